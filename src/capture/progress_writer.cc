#include "capture/progress_writer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "capture/step_writer.h"
#include "format/file_names.h"
#include "format/progress_file.h"

namespace smdebug {

ProgressWriter::ProgressWriter(std::shared_ptr<Storage> storage,
                               RunProgress start, const Clock& clock,
                               Logger& logger)
    : storage_(std::move(storage)),
      clock_(clock),
      logger_(logger),
      progress_(std::move(start)) {}

void ProgressWriter::note_loss(std::string_view tensor, double value) {
  if (tensor.size() > kMaxProgressNameBytes) return;
  pending_.push_back({tensor, value});
}

void ProgressWriter::published(const StepId& step, const WriteCounts& counts,
                               std::uint64_t dropped_tensors,
                               std::uint64_t dropped_bytes) {
  count(step);
  take_losses(step);
  progress_.steps = counts.steps;
  progress_.bytes = counts.bytes;
  progress_.removed_steps = counts.removals.removed_steps;
  progress_.replaced_tensors = counts.replaced_tensors;
  progress_.dropped_tensors += dropped_tensors;
  progress_.dropped_bytes += dropped_bytes;
  is_out_of_date_ = true;
  beat();
}

void ProgressWriter::beat() {
  if (!written_at_ || clock_.monotonic() >= *written_at_ + kProgressInterval)
    write(*storage_);
}

void ProgressWriter::count(const StepId& step) {
  progress_.last_step = std::max(progress_.last_step, step.global);
  auto& modes = progress_.modes;
  auto mode =
      std::ranges::find(modes, step.mode, &RunProgress::ModeSteps::mode);
  if (mode == modes.end())
    mode = modes.insert(mode, RunProgress::ModeSteps{step.mode, 0, -1});
  ++mode->steps;
  mode->last = std::max(mode->last, step.mode_step);
}

// Keeps the losses sorted, because readers show the first one, as the overview
// of a run does. Of too many, those that sort last are left out.
void ProgressWriter::take_losses(const StepId& step) {
  auto& losses = progress_.losses;
  for (const PendingLoss& pending : std::exchange(pending_, {})) {
    const auto key = std::tuple(pending.tensor, step.mode);
    const auto at = std::ranges::lower_bound(
        losses, key, {}, [](const RunProgress::Loss& loss) {
          return std::tuple(std::string_view(loss.tensor), loss.mode);
        });
    if (at != losses.end() && at->tensor == pending.tensor &&
        at->mode == step.mode) {
      at->step = step.global;
      at->value = pending.value;
      continue;
    }
    losses.insert(at, {std::string(pending.tensor), step.mode, step.global,
                       pending.value});
    if (losses.size() > kMaxProgressLosses) losses.pop_back();
  }
}

void ProgressWriter::close() {
  if (is_out_of_date_) write(*storage_);
}

void ProgressWriter::finish(Storage& storage, const SessionStatus& status) {
  progress_.has_ended = true;
  if (status.error) progress_.error = status.error->message;
  progress_.raised = status.raised;
  progress_.bytes = status.bytes;
  progress_.dropped_tensors = status.dropped_tensors;
  progress_.dropped_bytes = status.dropped_bytes;
  write(storage);
}

// Reads the clock before it writes: if the storage does not respond, the thread
// is abandoned, and the clock may no longer exist afterward.
void ProgressWriter::write(Storage& storage) {
  written_at_ = clock_.monotonic();
  progress_.written_seconds = clock_.wall_seconds();
  is_out_of_date_ = false;
  const Status written =
      put_object(storage, kProgressKey, write_progress_file(progress_));
  if (written || std::exchange(has_failed_, true)) return;
  logger_.warning("run '" + storage.uri() + "': cannot write '" +
                  std::string(kProgressKey) +
                  "', so 'smdebug ls' shows an older state of the run: " +
                  written.error().message);
}

}  // namespace smdebug
