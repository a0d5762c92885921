#pragma once

// Begins and ends steps, and decides which tensors are due in each. It holds
// the edited plan and the saved tensors that wait for the next step, and the
// pause. The owner's thread, except for `save`.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/config/plan.h"

#include "capture/capture_sink.h"
#include "capture/checkpoint_state.h"
#include "capture/leap_watch.h"
#include "capture/run_files.h"
#include "capture/run_lifecycle.h"
#include "capture/scalar_notes.h"
#include "capture/session_context.h"
#include "capture/slot_table.h"

namespace smdebug {

// A saved tensor that waits for the next step. Owns a copy of the elements, in
// C order.
class WaitingTensor {
 public:
  WaitingTensor(SavedTensor saved, const TensorView& tensor);

  const SavedTensor& saved() const { return saved_; }
  // Valid until this object is moved or destroyed.
  TensorView view() const;

 private:
  SavedTensor saved_;
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;  // 0 where the tensor was expanded
  std::vector<std::byte> elements_;    // each once
  std::vector<std::string> strings_;
  std::vector<std::string_view> string_views_;
};

class StepLifecycle {
 public:
  // Continues after a checkpoint, if the program has restored one. All
  // arguments must outlive this.
  StepLifecycle(SessionContext& context, SlotTable& slots, RunLifecycle& run,
                CaptureSink& sink, ScalarNotes& scalars, LeapWatch& leaps);

  // Ends the open step and begins the next. Returns whether anything is due.
  bool begin();
  void end();
  // Ends the open step, and adds one for tensors that still wait for a step.
  void finish();

  void set_paused(bool is_paused) { wants_pause_ = is_paused; }
  bool is_paused() const { return wants_pause_; }

  // See Session::explain_empty.
  void explain_empty(std::string_view collection, std::string_view reason) {
    reasons_.insert_or_assign(std::string(collection), std::string(reason));
  }

  // Sets the plan to use from the next step on.
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

  // Captures a tensor in the open step. If there is none, or if the calling
  // thread is not the owner, the tensor waits for the next step. Any thread.
  void save(const SavedTensor& saved, const TensorView& tensor);

  std::uint64_t begun() const { return begun_; }
  std::uint64_t saved() const { return saved_; }
  // The matches of the first saved step; empty before.
  const std::string& summary() const { return summary_; }

 private:
  void start_run();
  bool begin_recorded();
  CollectionSet take_due();
  void record_checkpoint();
  void use_pending_plan();
  void announce();
  void report_matches();
  void report_pattern_errors();
  void report_unmatched_at_end();
  void warn_once(const MatchSummary::Warning& warning);
  void put(SlotState& slot, const SavedTensor& saved, const TensorView& tensor);
  void put_waiting();
  bool has_waiting();

  SessionContext& context_;
  SlotTable& slots_;
  RunLifecycle& run_;
  CaptureSink& sink_;
  ScalarNotes& scalars_;
  LeapWatch& leaps_;

  std::shared_ptr<const Plan> pending_plan_;
  std::uint64_t plan_version_ = 1;
  std::atomic<bool> wants_pause_ = false;  // from the next step on
  bool is_paused_ = false;                 // in the open step
  bool is_open_ = false;
  bool is_announced_ = false;   // the writer has `begin_step` of the open step
  bool is_summarized_ = false;  // the matches of the plan in use were logged
  bool is_location_logged_ = false;
  std::map<std::string, std::string> reasons_;  // by collection
  std::set<std::string> warned_;  // subjects of warnings about matches
  std::string summary_;
  std::set<std::string> logged_pattern_errors_;
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
