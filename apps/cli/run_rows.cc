#include "run_rows.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/base/try.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/store/open_storage.h"

#include "find_runs.h"
#include "run_location.h"

namespace smdebug {
namespace {

// The time of the last change of a folder, since the epoch; 0 if unknown.
double folder_seconds(const std::string& run) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(run, failure);
  if (failure) return 0;
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::chrono::duration<double>(system.time_since_epoch()).count();
}

// A trial cannot tell a running training from a killed one if the run names no
// process, as runs of the original.
RunState state_of(Trial& trial, const RunOverview& overview) {
  switch (trial.writer_state()) {
    case WriterState::ended:
      return overview.attempt && !overview.attempt->raised.empty()
                 ? RunState::failed
                 : RunState::ended;
    case WriterState::exited:
      return RunState::killed;
    case WriterState::running:
      break;
  }
  return trial.writer() ? RunState::running : RunState::unknown;
}

// Whether the run ended, but its last `progress.json` could not be written.
// With several workers, the one that writes the file may end after another one.
bool lacks_last_progress(const RunProgress& progress, RunState state) {
  return has_end(state) && !progress.has_ended && progress.workers == 1;
}

// The counts of `progress.json` are those of one worker and one attempt, and
// include steps that were removed. A killed training may have published steps
// after it wrote them.
bool is_exact(const RunProgress& progress, RunState state) {
  return progress.workers == 1 && progress.attempt == 1 &&
         progress.removed_steps == 0 && state != RunState::killed &&
         !lacks_last_progress(progress, state);
}

// As on a full disk.
void add_recording_failure(const std::string& run, const Console& console,
                           RunRow& row) {
  const auto trial = open_run(run, console);
  if (!trial || !row.problem.empty()) return;
  const std::string failure = recording_failure(**trial);
  if (!failure.empty()) row.problem = "recording failed: " + failure;
}

// The steps of a killed training since it last wrote `progress.json`. Reads
// only their index files.
void add_last_steps(const std::string& run, const Console& console,
                    RunRow& row) {
  const auto trial =
      open_run(run, console, {}, std::max<Step>(row.last_step, 0));
  if (!trial) return;
  const auto overview = read_run_overview(**trial);
  const std::vector<Step> steps =
      (*trial)->steps(Mode::global, /*incomplete=*/true);
  if (!overview || steps.empty()) return;
  row.last_step = steps.back();
  for (const RunOverview::LossCourse& loss : overview->losses) {
    if (row.loss &&
        (row.loss->tensor != loss.tensor || row.loss->mode != loss.mode)) {
      continue;
    }
    row.loss = {loss.tensor, loss.mode, row.last_step, loss.last};
    return;
  }
}

// Parts that were removed hide steps that `progress.json` counts.
void add_damage(const std::string& run, const Console& console, RunRow& row) {
  const auto trial = open_run(run, console);
  if (!trial) return;
  const std::vector<Damage> damage = (*trial)->damage();
  if (damage.empty()) return;
  row.add_problem(damage.front().key + ": " + damage.front().what);
}

// The damage of a run may name it already.
void add_refused_writer(const Storage& storage, RunRow& row) {
  const auto refused = find_refused_writer(storage);
  if (!refused || !*refused || row.problem.find(**refused) != std::string::npos)
    return;
  row.add_problem(**refused);
}

Result<RunRow> read_quickly(const std::string& run, const Storage& storage,
                            const Console& console) {
  SMD_TRY(const RunProgress progress, read_run_progress(storage));
  RunRow row = run_row(progress);
  row.state = read_run_state(storage, progress, console.clock.wall_seconds());
  if (!is_exact(progress, *row.state)) {
    SMD_TRY(const RunSize size, measure_run(storage));
    row.steps = size.steps;
    row.bytes = size.bytes;
  }
  if (row.state == RunState::killed) add_last_steps(run, console, row);
  if (lacks_last_progress(progress, *row.state))
    add_recording_failure(run, console, row);
  if (progress.steps > 0 && lacks_parts(storage)) add_damage(run, console, row);
  add_refused_writer(storage, row);
  return row;
}

// For runs of the original and of older versions, and for damaged ones.
Result<RunRow> read_through_trial(const std::string& run,
                                  const Console& console) {
  SMD_TRY(const auto trial, open_run(run, console));
  SMD_TRY(const RunOverview overview, read_run_overview(*trial));
  RunRow row = run_row(overview);
  row.state = state_of(*trial, overview);
  const std::vector<Step> steps = trial->steps();
  if (!steps.empty()) row.last_step = steps.back();
  return row;
}

// The rules of a hook do not know the attempt, but write during it.
bool is_of_this_attempt(const RecordedStatus& status, const RunRow& row) {
  if (status.attempt > 0) return status.attempt >= row.attempt;
  return status.last_modified >= utc_text(row.started_seconds);
}

// Those of an older attempt do not apply to this one.
void add_rules(const Storage& storage, RunRow& row) {
  std::vector<SkippedStatus> skipped;
  auto statuses = read_recorded_statuses(storage, &skipped);
  if (!statuses) return;
  for (RecordedStatus& status : *statuses) {
    if (is_of_this_attempt(status, row)) row.rules.push_back(std::move(status));
  }
  if (skipped.empty()) return;
  const std::string others =
      skipped.size() == 1
          ? ""
          : fmt::format(" (and {} more in rules)", skipped.size() - 1);
  row.add_problem(skipped.front().key + ": " + skipped.front().what + others);
}

// A run before its first saved step, or one that ended without any.
RunRow row_without_steps(const Storage& storage, const Console& console) {
  RunRow row;
  row.state =
      read_run_state(storage, RunProgress(), console.clock.wall_seconds());
  row.problem = "no step is saved";
  return row;
}

Result<RunRow> read_row(const std::string& run, const Console& console) {
  SMD_TRY(const auto storage, open_storage(run));
  auto row = read_quickly(run, *storage, console);
  if (!row) row = read_through_trial(run, console);
  if (!row && row.error().code == Error::Code::not_found)
    row = row_without_steps(*storage, console);
  if (row) add_rules(*storage, *row);
  return row;
}

}  // namespace

RunRow read_run_row(const std::string& run, const Console& console) {
  auto read = read_row(run, console);
  RunRow row;
  if (read) {
    row = *std::move(read);
  } else {
    row.problem = read.error().message;
  }
  row.run = run;
  if (row.started_seconds == 0 && !is_address(run))
    row.started_seconds = folder_seconds(run);
  return row;
}

}  // namespace smdebug
