#pragma once

// `RuleWatch` publishes the verdicts of rules that judge a run. It keeps one
// status file per rule beside the run, writes an event for each change of a
// status, and performs the actions of rules that fire. docs/actions.md
// describes the files.
//
// If several watches judge the same rule of a run, the first one writes its
// status and the others log this. No watch repeats the actions of another. A
// failure to write or to act is logged once and never ends the judging. Only
// `stop` affects the training.
//
// A watch is used by one thread. Actions other than `stop` run in the
// background, so a hanging action delays neither rules nor other actions.
// `read_recorded_statuses` reads the status files back.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/actions/action.h"
#include "smdebug/actions/action_limits.h"
#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/rules/verdict.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

struct RuleWatchOptions {
  std::shared_ptr<Storage> storage;  // the run's
  std::vector<std::string> rules;    // names, in the order of verdicts
  std::vector<std::shared_ptr<Action>> actions;  // for each rule that fires
  ActionLimits limits;
  // Performed when a rule fires that the user asked to end the training, unless
  // one of `actions` already ends it. Null: none.
  std::shared_ptr<Action> stop_on_request;
  std::uint64_t attempt = 0;  // see `RecordPlace`
  // The worker, if rules of one name judge in several workers. It is added to
  // the names of their files; a device is spelled as in event file names.
  // Empty: nothing is added.
  std::string worker;
  // Receives messages for the user: one sentence per call.
  std::function<void(const std::string&)> say;
  // How often a status is written while only its numbers change.
  std::chrono::nanoseconds interval = std::chrono::seconds(5);
  const Clock* clock = nullptr;  // null: system_clock()
};

// The progress of the judging.
struct WatchProgress {
  std::uint64_t steps_fed = 0;  // saved steps that the rules have seen
  Step last_fed = -1;           // global steps; -1: none
  Step last_known = -1;         // the newest step of the run
  // How long the run has been ahead of the rules; 0 if it is not.
  double lag_seconds = 0;
  // "InProgress", "Completed", "Failed" or "Stopped"
  std::string training_status = "InProgress";
};

/// Returns true if the cloud's evaluator asks rules to stop: the file named by
/// the variable SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE exists.
bool is_told_to_stop();

class RuleWatch {
 public:
  explicit RuleWatch(RuleWatchOptions options);
  /// Same as `finish` with the last verdicts.
  ~RuleWatch();
  RuleWatch(const RuleWatch&) = delete;
  RuleWatch& operator=(const RuleWatch&) = delete;

  /// Takes the current verdicts, in the order of the rules. If one has changed
  /// its status, writes it, and starts its actions if it fired; `stop`
  /// completes before this returns.
  void update(std::span<const Verdict> verdicts, const WatchProgress& progress);

  /// Marks rules in progress as `Stopping`, after a stop request.
  void say_stopping();

  /// Stops all writing because the run was removed.
  void forget_run();

  /// Waits until all actions have ended, writes the last status of each rule,
  /// and releases the rules. A second call does nothing.
  void finish();

  /// Returns the results so far, in the order in which actions began.
  std::vector<ActionResult> results() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A status file that could not be read, or that is of another rule.
struct SkippedStatus {
  std::string key;   // the file, relative to the run
  std::string what;  // the reason, one sentence
};

/// Returns the statuses beside the run, sorted by key; empty if no process has
/// judged it. Skips files that are not statuses, and adds them to `skipped` if
/// it is not null. Fails with `io`.
Result<std::vector<RecordedStatus>> read_recorded_statuses(
    const Storage& storage, std::vector<SkippedStatus>* skipped = nullptr);

}  // namespace smdebug
