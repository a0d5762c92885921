#pragma once

// Decides when steps begin and end, and what is due in each: the plan in use,
// the edited plan that waits for the next step, pauses, and the tensors that
// were saved between steps. The owner's thread, except for `save`.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/config/plan.h"

#include "capture/capture_sink.h"
#include "capture/checkpoint_state.h"
#include "capture/run_lifecycle.h"
#include "capture/saved_tensor.h"
#include "capture/session_context.h"
#include "capture/slot_table.h"

namespace smdebug {

class StepLifecycle {
 public:
  // Continues after a checkpoint, if the program has restored one. All parts
  // outlive this.
  StepLifecycle(SessionContext& context, SlotTable& slots, RunLifecycle& run,
                CaptureSink& sink);

  // Ends the open step and begins the next. Returns whether anything is due.
  bool begin();
  void end();
  // Ends the open step, and one more for tensors that still wait for a step.
  void finish();

  void set_paused(bool is_paused) { wants_pause_ = is_paused; }
  bool is_paused() const { return wants_pause_; }

  // Used from the next step on.
  void set_plan(std::shared_ptr<const Plan> plan) {
    pending_plan_ = std::move(plan);
  }
  std::uint64_t plan_version() const { return plan_version_; }

  // --- the step that would begin now ---

  const Plan& coming_plan() const {
    return pending_plan_ ? *pending_plan_ : slots_.plan();
  }
  CollectionSet next_due() const;
  // The saved collections that the slot belongs to in that step.
  CollectionSet coming_matches(const SlotState& slot) const {
    return pending_plan_ ? slots_.matches(slot, *pending_plan_) : slot.matched;
  }

  // Captures a tensor in the open step. If there is none, or another thread
  // owns it, the tensor waits for the next step. Any thread.
  void save(const SavedTensor& saved, const TensorView& tensor);

  std::uint64_t begun() const { return begun_; }
  std::uint64_t saved() const { return saved_; }
  // The matches of the first saved step; empty before.
  const std::string& summary() const { return summary_; }

 private:
  void start_run();
  void note_checkpoint();
  void use_pending_plan();
  void announce();
  void report_matches();
  void put(SlotState& slot, const SavedTensor& saved, const TensorView& tensor);
  void put_waiting();
  bool has_waiting();

  SessionContext& context_;
  SlotTable& slots_;
  RunLifecycle& run_;
  CaptureSink& sink_;

  std::shared_ptr<const Plan> pending_plan_;
  std::uint64_t plan_version_ = 1;
  std::atomic<bool> wants_pause_ = false;  // from the next step on
  bool is_paused_ = false;                 // in the open step
  bool is_open_ = false;
  bool is_announced_ = false;   // the writer knows of the open step
  bool is_summarized_ = false;  // what the plan in use has matched
  std::string summary_;
  // Also the number of the open step in messages, counted from 1.
  std::uint64_t begun_ = 0;
  std::uint64_t saved_ = 0;
  LaneCounts at_step_start_;

  std::unique_ptr<CheckpointState> checkpoints_;  // null: none configured
  std::optional<Step> last_saved_step_;

  std::mutex waiting_mutex_;
  std::vector<WaitingTensor> waiting_;  // for the next step
};

}  // namespace smdebug
