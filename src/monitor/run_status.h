#pragma once

// `RunStatus` keeps the status files of the rules that judge one run, performs
// their actions, and measures how far the rules lag behind the run.
// `RunMonitor` uses it as its interface to actions/rule_watch.h.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/actions/status_writer.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/monitor/run_monitor.h"

namespace smdebug {

// Returns the limit of a wait for the storage of status files.
WaitLimit status_limit(std::function<bool()> check_interrupt);

class RunStatus {
 public:
  // Makes the actions. Fails as `make_action`. `options` and `clock` outlive
  // this; `stop_training` is called when an action or a rule ends the training.
  static Result<std::unique_ptr<RunStatus>> create(
      const RunMonitorOptions& options, const Clock& clock,
      std::function<Result<StopOutcome>()> stop_training);

  // Call when the run exists, and when its training was started again: starts
  // its status files.
  void open(Trial& trial, std::span<const Verdict> verdicts);

  // Call before a step is judged.
  void count_step(const StepId& step, Step last_complete);

  // Call when the rule of `verdict` has left `in_progress`: performs the
  // actions and writes its status. If the run does not exist yet, actions are
  // performed without a record.
  void announce(const Verdict& verdict, std::span<const Verdict> verdicts);

  // Call regularly: measures the lag and writes the statuses that are due.
  void look(std::span<const Verdict> verdicts);

  MonitorLag lag() const;

  // Marks the rules in progress as `Stopping`.
  void say_stopping();
  // Stops all writing because the run was removed.
  void forget_run();

  void set_training_status(std::string_view status) {
    progress_.training_status = status;
  }

  // Waits for the actions, writes the last statuses, and returns the results of
  // the actions.
  std::vector<ActionResult> finish(std::span<const Verdict> verdicts);

 private:
  RunStatus(const RunMonitorOptions& options, const Clock& clock)
      : options_(options), clock_(clock) {}

  void update(std::span<const Verdict> verdicts);
  void act_without_run(const Verdict& verdict);
  void measure_lag();
  void update_lag();

  const RunMonitorOptions& options_;
  const Clock& clock_;
  std::vector<std::shared_ptr<Action>> actions_;
  std::shared_ptr<Action> stop_on_request_;
  Trial* trial_ = nullptr;
  // At most one of the two: see `RunMonitorOptions::StatusFiles`.
  std::unique_ptr<RuleWatch> watch_;
  std::unique_ptr<StatusWriter> writer_;
  std::vector<ActionResult> results_without_run_;
  WatchProgress progress_;
  std::chrono::nanoseconds next_lag_{0};
  std::optional<std::chrono::nanoseconds> behind_since_;
};

}  // namespace smdebug
