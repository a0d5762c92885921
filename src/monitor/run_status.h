#pragma once

// The status files and the actions of the rules that judge one run, and how far
// the rules are behind it: what `RunMonitor` needs of actions/rule_watch.h.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/actions/status_writer.h"
#include "smdebug/monitor/run_monitor.h"

namespace smdebug {

class RunStatus {
 public:
  // Makes the actions. Fails as `make_action`. `options` and `clock` outlive
  // this; `stop_training` is called where an action or a rule ends the
  // training.
  static Result<std::unique_ptr<RunStatus>> create(
      const RunMonitorOptions& options, const Clock& clock,
      std::function<Result<StopOutcome>()> stop_training);

  // The run exists now: begins its files.
  void open(Trial& trial, std::span<const Verdict> verdicts);

  // A step is about to be judged.
  void count_step(const StepId& step, Step last_complete);

  // The rule of `verdict` has left `in_progress`: acts, and writes its status.
  // Where there is no run yet, the actions leave no record.
  void announce(const Verdict& verdict, std::span<const Verdict> verdicts);

  // Now and then: measures the lag, and writes what is due.
  void look(std::span<const Verdict> verdicts);

  MonitorLag lag() const;

  // Marks the rules in progress as `Stopping`.
  void say_stopping();
  // Stops all writing because the run was removed.
  void forget_run();

  void set_training_status(std::string_view status) {
    progress_.training_status = status;
  }

  // Waits for the actions, writes the last statuses, and returns what was done.
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
