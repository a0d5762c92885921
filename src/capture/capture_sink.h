#pragma once

// Where slots put their tensors: the part of a session that runs inside the
// training step. It chooses the lane, counts, and shows the tensor to whoever
// judges the running step. It decides nothing about steps.
//
// Threads: the owner has a lane without a lock. Other threads share a lane
// under the recorder's `shared_mutex`. `end_step` takes that mutex to clear
// `capturing_`: a thread that sees it set under the lock still belongs to the
// open step, and one that does not belongs to none.

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

#include "base/current_thread.h"
#include "capture/cycle_clock.h"
#include "capture/live_step.h"
#include "capture/recorder.h"
#include "capture/saved_tensor.h"
#include "capture/slot_table.h"

namespace smdebug {

class CaptureSink {
 public:
  // Both outlive this.
  CaptureSink(SlotTable& slots, Logger& logger)
      : slots_(slots), logger_(logger) {}

  // --- tensors, from any thread ---

  // Relaxed: whether a step is open is decided under the lock, and a pointer
  // to an earlier `SaveSpec` is as valid as one to the present.
  bool is_capturing() const {
    return capturing_.load(std::memory_order_relaxed);
  }
  void capture(SlotState& slot, const SaveSpec& spec, const TensorView& tensor);
  // `tensor` has a dtype and a shape, but no elements.
  void capture_statistics(SlotState& slot, const SaveSpec& spec,
                          const TensorView& tensor,
                          const TensorStatistics& statistics);
  // Whether `capture` needs more than the tensor's statistics.
  bool needs_elements(const SlotState& slot, const SaveSpec& spec);
  // Counts the next tensor of `module` in this step; null if it is not due.
  SlotState* next_due(const ModuleState& module,
                      ModuleState::Direction& direction) {
    return slots_.next_due(module, direction,
                           sequence_.load(std::memory_order_relaxed));
  }
  // Whether the tensor can be captured at all. If not, its slot is skipped.
  bool is_capturable(SlotState& slot, const TensorView& tensor);
  void skip(SlotState& slot, std::string_view reason);
  // The slot belongs to these collections from now on.
  void assign(SlotState& slot, std::span<const std::string> collections);

  // --- tensors, from the owner's thread ---

  // One record for all of `slots` that are due in the same form.
  void capture_shared(std::span<SlotState* const> slots,
                      const TensorView& tensor);
  // Captures a tensor that the program saves, due or not.
  void save(SlotState& slot, const SavedTensor& saved,
            const TensorView& tensor);

  // --- steps, from the owner's thread ---

  void bind_to_current_thread() { owner_ = current_thread(); }
  bool is_owner() const { return owner_ == current_thread(); }
  // Null if nothing is recorded.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }
  void begin_step(std::uint64_t sequence) {
    sequence_.store(sequence, std::memory_order_relaxed);
  }
  void start_capturing() { capturing_.store(true, std::memory_order_release); }
  // Returns where the open step ends in the shared lane.
  std::uint64_t stop_capturing();
  void after_fork_in_child() { capturing_.store(false); }

  // --- who judges the running step ---

  void set_observer(ObservationSink* observer);
  bool has_observer() const { return live_.has_sink(); }
  void show_step(const StepId& step, StepPhase phase, std::string_view worker);
  void show_collections();

  // --- reports ---

  std::map<std::string, std::string> skipped();
  // Add to it what the owner's thread spends in calls of the session.
  std::uint64_t& step_cycles() { return step_cycles_; }
  double step_seconds() const { return cycle_clock_.seconds(step_cycles_); }

 private:
  bool has_capturable_shape(SlotState& slot, const TensorView& tensor);
  // `put` is called with the lane of this thread; what it returns is counted.
  template <typename Put>
  void put_in_lane(const SlotState& slot, const TensorView& tensor,
                   const Put& put);
  void put_shared(std::vector<SlotState*> slots, const SaveSpec& spec,
                  const TensorView& tensor);
  void count(LaneCounts& counts, const SlotState& slot,
             const TensorView& tensor, const TensorStatistics* kept);

  SlotTable& slots_;
  Logger& logger_;
  Recorder* recorder_ = nullptr;
  LiveStep live_;
  std::atomic<bool> capturing_ = false;
  std::atomic<const void*> owner_ = nullptr;
  std::atomic<std::uint64_t> sequence_ = 0;  // of the step begun last
  // Tensors have joined collections that the observer does not know yet.
  std::atomic<bool> has_new_members_ = false;
  std::uint64_t step_cycles_ = 0;
  CycleClock cycle_clock_;
  std::mutex skipped_mutex_;
  std::map<std::string, std::string> skipped_;
};

}  // namespace smdebug
