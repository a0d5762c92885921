#include "capture/capture_sink.h"

#include <algorithm>
#include <utility>

#include "smdebug/core/tensor_sample.h"

#include "format/string_elements.h"

namespace smdebug {
namespace {

const SaveSpec& scalar_spec() {
  static const SaveSpec spec{.raw = true,
                             .shape = false,
                             .reductions = {},
                             .scalar_summary = true,
                             .histogram_collection = {}};
  return spec;
}

// The size of the elements in a record.
std::uint64_t captured_bytes(const TensorView& tensor) {
  const std::size_t bytes = tensor.bytes();
  return bytes == 0 && is_string(tensor.dtype)
             ? string_elements_bytes(tensor.strings())
             : bytes;
}

// Set while it exists. Relaxed: who reads it is synchronized with this thread.
class Flag {
 public:
  explicit Flag(std::atomic<bool>& flag) : flag_(flag) {
    flag_.store(true, std::memory_order_relaxed);
  }
  ~Flag() { flag_.store(false, std::memory_order_relaxed); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

 private:
  std::atomic<bool>& flag_;
};

// Calls `use` with what is kept of a tensor: all of it, or a sample.
template <typename Use>
void with_kept(const SlotState& slot, const SaveSpec& spec,
               const TensorView& tensor, const Use& use) {
  if (CaptureSink::is_sampled(slot, spec, tensor.shape) &&
      !is_string(tensor.dtype)) {
    const TensorSample sample(tensor, spec.max_elements);
    use(sample.view());
  } else {
    use(tensor);
  }
}

}  // namespace

template <typename Put>
void CaptureSink::put_in_lane(SlotState& slot, const TensorView& tensor,
                              const Put& put) {
  if (is_owner()) {
    CycleMeter meter(step_cycles_);
    const Flag in_lane(is_in_owner_lane_);
    count(recorder_->owner_counts, slot, tensor, put(*recorder_->owner_lane));
  } else {
    std::lock_guard lock(recorder_->shared_mutex);
    // The step may have ended since the caller checked. Its tensors must all be
    // before the position that `stop_capturing` returned, so this one is too
    // late.
    if (!is_capturing()) return;
    count(recorder_->shared_counts, slot, tensor, put(*recorder_->shared_lane));
  }
}

bool CaptureSink::is_sampled(const SlotState& slot, const SaveSpec& spec,
                             std::span<const std::int64_t> shape) {
  return spec.max_elements > 0 && shape.size() <= kMaxSampledRank &&
         element_count(shape) > spec.max_elements &&
         slot.placement.load(std::memory_order_relaxed) == nullptr;
}

void CaptureSink::capture(SlotState& slot, const SaveSpec& spec,
                          const TensorView& tensor) {
  if (!is_capturable(slot, tensor)) return;
  report_expanded(slot, spec, tensor);
  put_in_lane(slot, tensor, [&](Lane& lane) {
    return lane.put(slot, spec, tensor, sequence_);
  });
}

void CaptureSink::capture_kept(SlotState& slot, const SaveSpec& spec,
                               const TensorView& tensor) {
  with_kept(slot, spec, tensor,
            [&](const TensorView& kept) { capture(slot, spec, kept); });
}

void CaptureSink::capture_statistics(SlotState& slot, const SaveSpec& spec,
                                     const TensorView& tensor,
                                     const TensorStatistics& statistics) {
  if (is_string(tensor.dtype)) return skip(slot, "strings have no statistics");
  if (Lane::needs_elements(spec)) {
    return skip(slot,
                "its elements should be saved, but the adapter has only its "
                "statistics");
  }
  const auto size = static_cast<std::uint64_t>(tensor.size());
  if (statistics.count != size) {
    return skip(slot, "statistics of " + std::to_string(statistics.count) +
                          " elements for a shape of " + std::to_string(size));
  }
  if (!has_capturable_shape(slot, tensor)) return;
  put_in_lane(slot, tensor, [&](Lane& lane) {
    return lane.put_statistics(slot, spec, tensor, statistics, sequence_);
  });
}

bool CaptureSink::needs_elements(const SlotState& slot, const SaveSpec& spec) {
  if (Lane::needs_elements(spec)) return true;
  if (!live_.has_sink()) return false;
  // The observer may need more once it knows the new members.
  return has_new_members_.load() || live_.may_read_values(slot);
}

// A reduction is a separate record with the tensor's name in its tag, so slots
// with reductions cannot share a record.
void CaptureSink::capture_shared(std::span<SlotState* const> slots,
                                 const TensorView& tensor) {
  using Group = std::pair<const SaveSpec*, std::vector<SlotState*>>;
  std::vector<Group> groups;
  for (SlotState* slot : slots) {
    const SaveSpec* spec = slot->spec.load(std::memory_order_relaxed);
    if (spec == nullptr) continue;
    const auto group = std::ranges::find(groups, spec, &Group::first);
    if (group == groups.end() || !spec->reductions.empty()) {
      groups.push_back({spec, {slot}});
    } else {
      group->second.push_back(slot);
    }
  }
  for (auto& [spec, same] : groups) {
    with_kept(*same.front(), *spec, tensor, [&](const TensorView& kept) {
      put_shared(std::move(same), *spec, kept);
    });
  }
}

void CaptureSink::put_shared(std::vector<SlotState*> slots,
                             const SaveSpec& spec, const TensorView& tensor) {
  SlotState& first = *slots.front();
  if (!is_capturable(first, tensor)) return;
  report_expanded(first, spec, tensor);
  CycleMeter meter(step_cycles_);
  const Flag in_lane(is_in_owner_lane_);
  const auto* also =
      slots_.keep_shared(first, {slots.begin() + 1, slots.end()});
  const TensorStatistics* kept =
      recorder_->owner_lane->put(first, spec, tensor, sequence_, 0, also);
  count(recorder_->owner_counts, first, tensor, kept);
  if (kept == nullptr) return;
  for (SlotState* slot : *also) note_capture(*slot);
  if (!live_.has_sink()) return;
  for (const SlotState* slot : *also) live_.add(*slot, tensor, *kept);
}

void CaptureSink::save(SlotState& slot, const SavedTensor& saved,
                       const TensorView& tensor) {
  const SaveSpec* spec = &scalar_spec();
  if (!saved.is_scalar) {
    const SlotTable::Joined joined = slots_.join(slot, saved.collections);
    if (joined.is_new) has_new_members_ = true;
    spec = joined.spec;
  }
  report_expanded(slot, *spec, tensor);
  const Flag in_lane(is_in_owner_lane_);
  count(recorder_->owner_counts, slot, tensor,
        recorder_->owner_lane->put(slot, *spec, tensor, sequence_,
                                   saved.wall_seconds));
}

void CaptureSink::count(LaneCounts& counts, SlotState& slot,
                        const TensorView& tensor,
                        const TensorStatistics* kept) {
  if (kept != nullptr) note_capture(slot);
  const std::size_t bytes = captured_bytes(tensor);
  ++(kept != nullptr ? counts.tensors : counts.dropped_tensors);
  (kept != nullptr ? counts.bytes : counts.dropped_bytes) += bytes;
  if (kept != nullptr) note_gradient(slot, *kept);
  if (!live_.has_sink() || kept == nullptr) return;
  if (has_new_members_.exchange(false)) show_collections();
  live_.add(slot, tensor, *kept);
}

void CaptureSink::note_gradient(SlotState& slot,
                                const TensorStatistics& statistics) {
  const SaveSpec* spec = slot.spec.load(std::memory_order_relaxed);
  if (spec != nullptr && spec->is_gradient && is_owner())
    leaps_.note_gradient(slot.norms, statistics);
}

void CaptureSink::note_capture(SlotState& slot) {
  if (slot.was_captured.load(std::memory_order_relaxed)) return;
  slot.was_captured = true;
  if (slot.is_skipped) slots_.note_listing();
}

bool CaptureSink::is_capturable(SlotState& slot, const TensorView& tensor) {
  if (tensor.data == nullptr && tensor.size() > 0) {
    skip(slot,
         "its data pointer is null, or its elements do not fit its shape");
    return false;
  }
  return has_capturable_shape(slot, tensor);
}

bool CaptureSink::has_capturable_shape(SlotState& slot,
                                       const TensorView& tensor) {
  if (tensor.shape.size() > Lane::kMaxRank) {
    skip(slot, "more than " + std::to_string(Lane::kMaxRank) + " dimensions");
    return false;
  }
  if (captured_bytes(tensor) > kMaxPayloadBytes &&
      !Lane::is_expanded_too_far(tensor)) {
    skip(slot,
         "larger than a record can be: its statistics are saved, its values "
         "are not");
  }
  return true;
}

void CaptureSink::report_expanded(SlotState& slot, const SaveSpec& spec,
                                  const TensorView& tensor) {
  if (!spec.raw || !Lane::is_expanded_too_far(tensor)) return;
  skip(slot, "it is an expanded tensor of " + std::to_string(tensor.bytes()) +
                 " bytes: its statistics are saved, its values are not; save "
                 "the tensor that was expanded");
}

void CaptureSink::skip(SlotState& slot, std::string_view reason) {
  if (!leave_out(slot, reason)) return;
  logger_.warning("tensor '" + slot.name +
                  "' is not saved: " + std::string(reason));
}

bool CaptureSink::leave_out(SlotState& slot, std::string_view reason) {
  if (slot.is_skipped.exchange(true)) return false;
  if (!slot.was_captured) slots_.note_listing();
  std::lock_guard lock(skipped_mutex_);
  skipped_.emplace(slot.name, reason);
  return true;
}

void CaptureSink::assign(SlotState& slot,
                         std::span<const std::string> collections) {
  if (slots_.assign(slot, collections)) has_new_members_ = true;
}

std::uint64_t CaptureSink::stop_capturing() {
  // Under the mutex no other thread is in the middle of a `put`, and none
  // begins one for this step after it. The position therefore ends the step
  // exactly.
  std::lock_guard lock(recorder_->shared_mutex);
  capturing_.store(false);
  return recorder_->shared_ring->published();
}

void CaptureSink::set_observer(ObservationSink* observer) {
  live_.set_sink(observer);
  show_collections();
}

void CaptureSink::show_step(const StepId& step, StepPhase phase,
                            std::string_view worker) {
  if (!live_.has_sink()) return;
  live_.show(step, phase, worker);
  if (phase == StepPhase::complete) live_.clear();
}

void CaptureSink::show_collections() {
  if (live_.has_sink()) live_.show_collections(slots_.groups());
}

void CaptureSink::show_facts(std::string_view worker, const RunFacts& facts) {
  if (live_.has_sink()) live_.show_facts(worker, facts);
}

void CaptureSink::show_scalars(std::string_view worker,
                               std::span<const ScalarSeriesView> series) {
  if (live_.has_sink()) live_.show_scalars(worker, series);
}

std::map<std::string, std::string> CaptureSink::skipped() {
  std::lock_guard lock(skipped_mutex_);
  return skipped_;
}

}  // namespace smdebug
