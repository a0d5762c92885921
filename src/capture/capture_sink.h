#pragma once

// The destination of the tensors that are put into slots: the part of a session
// that runs inside the training step. It chooses the lane, counts, and passes
// the tensor to the observer of the running step. It decides nothing about
// steps.
//
// Threads: the owner has a lane without a lock. Other threads share a lane
// under the recorder's `shared_mutex`. `stop_capturing` takes that mutex to
// clear `capturing_`, so a thread that sees it set under the mutex captures in
// the open step, and the writer finds its tensor before the end of that step.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/logger.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/tensor_view.h"

#include "capture/cycle_clock.h"
#include "capture/leap_watch.h"
#include "capture/live_step.h"
#include "capture/recorder.h"
#include "capture/slot_table.h"

namespace smdebug {

// The request to save a tensor by name, beside the tensors that the plan
// captures.
struct SavedTensor {
  std::string name;
  std::vector<std::string> collections;
  bool is_scalar = false;
  double wall_seconds = 0;  // of the record; 0: of the step
};

// Returns a value that identifies the calling thread among all running threads.
// Takes less time than std::this_thread::get_id: it is the address of a
// thread-local variable.
inline const void* current_thread() {
  static thread_local const char mark = 0;
  return &mark;
}

class CaptureSink {
 public:
  // All outlive this.
  CaptureSink(SlotTable& slots, Logger& logger, LeapWatch& leaps)
      : slots_(slots), logger_(logger), leaps_(leaps) {}

  // --- tensors, from any thread ---

  // Whether the open step saves anything. Relaxed, because it is only a first
  // check: other threads check again under the mutex, and a pointer to an
  // earlier `SaveSpec` stays valid.
  bool is_capturing() const {
    return capturing_.load(std::memory_order_relaxed);
  }
  void capture(SlotState& slot, const SaveSpec& spec, const TensorView& tensor);
  // The same with the elements that the spec limits: all, or a sample.
  void capture_kept(SlotState& slot, const SaveSpec& spec,
                    const TensorView& tensor);
  // Whether `capture_kept` keeps a sample of a tensor of that shape.
  static bool is_sampled(const SlotState& slot, const SaveSpec& spec,
                         std::span<const std::int64_t> shape);
  // `tensor` has a dtype and a shape, but no elements.
  void capture_statistics(SlotState& slot, const SaveSpec& spec,
                          const TensorView& tensor,
                          const TensorStatistics& statistics);
  // Whether `capture` needs more than the tensor's statistics.
  bool needs_elements(const SlotState& slot, const SaveSpec& spec);
  // Counts the next tensor of `module` in this step. Returns its slot, or null
  // if it is not due.
  SlotState* next_due(const ModuleState& module,
                      ModuleState::Direction& direction) {
    return slots_.next_due(module, direction,
                           sequence_.load(std::memory_order_relaxed));
  }
  // Whether the tensor can be captured at all. If not, skips its slot.
  bool is_capturable(SlotState& slot, const TensorView& tensor);
  void skip(SlotState& slot, std::string_view reason);
  // Like `skip`, without a message. Returns whether it is the first time.
  bool leave_out(SlotState& slot, std::string_view reason);
  // Adds the slot to these collections, from now on.
  void assign(SlotState& slot, std::span<const std::string> collections);

  // --- tensors, from the owner's thread ---

  // Writes one record for all of `slots` that are due in the same form.
  void capture_shared(std::span<SlotState* const> slots,
                      const TensorView& tensor);
  // Captures a tensor that the program saves, due or not.
  void save(SlotState& slot, const SavedTensor& saved,
            const TensorView& tensor);

  // --- steps, from the owner's thread ---

  void bind_to_current_thread() { owner_ = current_thread(); }
  const void* owner() const { return owner_; }
  void set_owner(const void* thread) { owner_ = thread; }
  // Whether no other thread is capturing as the owner: it may wait for space.
  bool may_change_owner() const { return is_owner() || !is_in_owner_lane_; }
  bool is_owner() const { return owner_ == current_thread(); }
  // Null if nothing is recorded.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }
  void begin_step(std::uint64_t sequence) {
    sequence_.store(sequence, std::memory_order_relaxed);
  }
  void start_capturing() { capturing_.store(true, std::memory_order_release); }
  // Returns the position in the shared lane at which the open step ends.
  std::uint64_t stop_capturing();
  void after_fork_in_child() { capturing_.store(false); }

  // --- the observer of the running step ---

  void set_observer(ObservationSink* observer);
  bool has_observer() const { return live_.has_sink(); }
  void show_step(const StepId& step, StepPhase phase, std::string_view worker);
  void show_collections();
  void show_facts(std::string_view worker, const RunFacts& facts);
  void show_scalars(std::string_view worker,
                    std::span<const ScalarSeriesView> series);

  // --- reports ---

  std::map<std::string, std::string> skipped();
  // The owner's cycles in calls of the session; add to it with `CycleMeter`.
  std::uint64_t& step_cycles() { return step_cycles_; }
  double step_seconds() const { return cycle_clock_.seconds(step_cycles_); }

 private:
  bool has_capturable_shape(SlotState& slot, const TensorView& tensor);
  // Reports that the values of a tensor are not saved because it was expanded.
  void report_expanded(SlotState& slot, const SaveSpec& spec,
                       const TensorView& tensor);
  // Calls `put` with the lane of this thread, and counts the result.
  template <typename Put>
  void put_in_lane(SlotState& slot, const TensorView& tensor, const Put& put);
  void put_shared(std::vector<SlotState*> slots, const SaveSpec& spec,
                  const TensorView& tensor);
  void count(LaneCounts& counts, SlotState& slot, const TensorView& tensor,
             const TensorStatistics* kept);
  void note_gradient(SlotState& slot, const TensorStatistics& statistics);
  // From now on the collections file lists the tensor, even if it was skipped.
  void note_capture(SlotState& slot);

  SlotTable& slots_;
  Logger& logger_;
  LeapWatch& leaps_;
  Recorder* recorder_ = nullptr;
  LiveStep live_;
  std::atomic<bool> capturing_ = false;
  std::atomic<const void*> owner_ = nullptr;
  std::atomic<bool> is_in_owner_lane_ = false;
  std::atomic<std::uint64_t> sequence_ = 0;  // of the step begun last
  // Whether tensors have joined collections since the observer got the groups.
  std::atomic<bool> has_new_members_ = false;
  std::uint64_t step_cycles_ = 0;
  CycleClock cycle_clock_;
  std::mutex skipped_mutex_;
  std::map<std::string, std::string> skipped_;
};

}  // namespace smdebug
