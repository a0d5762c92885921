#pragma once

// `RunMonitor` judges a run with rules: one that has ended, or one that still
// grows. It is the one place where a run, the runs that it is compared with,
// rules, status files, reports and actions meet; `smdebug run`, `watch` and
// `check`, the trainer callbacks and `smdebug.rules.builtin` are thin users of
// it. `StepMonitor` does the same inside a training step.
//
//     auto monitor = *RunMonitor::create(location, std::move(rules));
//     while (training) { (void)monitor->poll(); sleep(); }
//     const MonitorResult result = monitor->finish("Completed");
//
// It never waits and starts no thread but those of actions, of status files in
// the background, and of calls to the storage of a live run, which fail if the
// storage does not respond within its limit. A monitor is used by one thread at
// a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/actions/action_limits.h"
#include "smdebug/actions/action_request.h"
#include "smdebug/actions/stop_process.h"
#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/monitor/monitor_result.h"
#include "smdebug/monitor/rule_report.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/capture_request.h"
#include "smdebug/rules/rule.h"

namespace [[gnu::visibility("default")]] smdebug {

struct RunMonitorOptions {
  // Whether status files and events are kept beside the run (docs/actions.md),
  // and which thread writes them: the one that polls, or a separate one, so
  // that a slow disk delays nothing. Actions require `by_caller`.
  enum class StatusFiles { none, by_caller, in_background };

  StatusFiles status_files = StatusFiles::none;
  // Performed for each rule that fires, at most once per verdict.
  std::vector<ActionRequest> actions;
  ActionLimits limits;  // the findings that actions react to
  // Ends the training; null: `stop_writer` of the run.
  std::function<Result<StopOutcome>()> stop_training;
  // Whether the training is running. If so, rules receive the time between its
  // steps, and a rule that the user asked to end the training does so.
  bool is_live = false;
  // Whether the training was over before it was monitored. It is not known
  // when its steps came, so no rule receives the time between them.
  bool was_over = false;
  Step first_step = 0;  // steps before it are not judged
  // Makes the rules again. If the training is started again while it is
  // monitored, new rules judge the new attempt from its first step; without
  // this function, the same rules judge on.
  std::function<Result<std::vector<std::unique_ptr<Rule>>>()> make_rules;
  std::vector<RuleReport> reports;
  // Called once for each rule whose status leaves `in_progress`, before its
  // actions begin.
  std::function<void(const Verdict&)> on_verdict;
  std::function<void(const StepId&)> on_step;  // after each step judged
  // Receives messages for the user: one sentence per call.
  std::function<void(const std::string&)> on_message;
  // Asked while the storage of a live run does not respond for more than a
  // second: true ends the wait. Null: never.
  std::function<bool()> check_interrupt = nullptr;
  // The limit of each call of the storages that the monitor opens. None:
  // `WaitLimit::from_environment` for a live run; no limit for others. Set it
  // inside a training.
  std::optional<WaitLimit> storage_limit;
  const Clock* clock = nullptr;  // null: system_clock()
};

// How far the rules lag behind the training.
struct MonitorLag {
  Step steps = 0;      // saved steps that are known and not judged yet
  double seconds = 0;  // how long there have been such steps
};

class RunMonitor {
 public:
  using Rules = std::vector<std::unique_ptr<Rule>>;

  /// Creates a monitor of the run at `location`, which need not exist yet:
  /// `poll` opens it. Fails as `Trial::open` for a run that a rule compares
  /// with, and as `make_action`.
  static Result<std::unique_ptr<RunMonitor>> create(
      std::string location, Rules rules, RunMonitorOptions options = {});

  /// Same for a trial that is already open and outlives the monitor.
  static Result<std::unique_ptr<RunMonitor>> create(
      Trial& trial, Rules rules, RunMonitorOptions options = {});

  /// Waits for the actions, and writes the statuses as they are.
  ~RunMonitor();
  RunMonitor(const RunMonitor&) = delete;
  RunMonitor& operator=(const RunMonitor&) = delete;

  /// Returns the data that must be captured for the rules.
  const CaptureRequest& request() const;

  /// Judges the complete steps that were not judged yet, and returns how many
  /// there were. A run that does not exist yet has none. Fails as `Trial::open`
  /// and `Trial::feed`; the next call tries again, and the last failure is
  /// `MonitorResult::error`.
  Result<std::uint64_t> poll();

  /// Skips steps before `first` from now on.
  void skip_to(Step first);

  /// The run; null while it does not exist.
  Trial* trial();

  /// Returns the current verdict of each rule, in the order of the rules.
  std::span<const Verdict> verdicts() const;
  /// Whether a rule is still in progress.
  bool is_judging() const;
  MonitorLag lag() const;

  /// Cancels the judging: rules in progress end as `stopped`, and no further
  /// step is judged. For a monitor that ends before its run does.
  void stop();

  /// Call when no step will follow: ends the rules, writes their reports,
  /// waits for the actions, and writes the last status of each rule with the
  /// training as "Completed", "Failed", "Stopped" or "InProgress". Writes
  /// nothing if the files of the run were removed. A second call returns the
  /// same result.
  const MonitorResult& finish(std::string_view training_status);

 private:
  class Impl;
  explicit RunMonitor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Checks that `actions` can be performed. Fails as `make_action`.
Status check_actions(std::span<const ActionRequest> actions);

/// Ends the process that writes `trial`, on this machine. Fails with
/// `not_found` if `trial` is null or names no process.
Result<StopOutcome> stop_writer(Trial* trial, const Clock& clock);

}  // namespace smdebug
