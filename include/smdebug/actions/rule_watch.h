#pragma once

// `RuleWatch` stands between rules that judge a run and everybody who wants to
// know: it keeps one status file per rule beside the run, an event for each
// change of a status, and performs the actions of a rule that fires. Files and
// their content: docs/actions.md.
//
// Of several watches of one rule of one run the first one writes its status;
// the others say so. None does what another one did. A failure to write or to
// act is told once and never ends the judging, and but for `stop` nothing here
// touches the training.
//
// A watch is used by one thread. Actions other than `stop` go on beside it, so
// one that hangs holds up neither the rules nor the other actions.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/actions/action.h"
#include "smdebug/base/clock.h"
#include "smdebug/core/mode.h"
#include "smdebug/rules/action_result.h"
#include "smdebug/rules/verdict.h"
#include "smdebug/store/storage.h"

namespace smdebug {

struct RuleWatchOptions {
  std::shared_ptr<Storage> storage;  // the run's
  std::vector<std::string> rules;    // names, as their verdicts are ordered
  std::vector<std::shared_ptr<Action>> actions;  // for each rule that fires
  // For a rule that fires and was asked to end the training, unless `actions`
  // ends it already; null: nothing is done.
  std::shared_ptr<Action> stop_on_request;
  std::uint64_t attempt = 0;                     // see `RecordPlace`
  // Where rules of one name judge in several workers: whose these are. It is
  // added to the names of their files, a device as event files are named after
  // it; empty: nothing is.
  std::string worker;
  // Is told what a person should know: one sentence.
  std::function<void(const std::string&)> say;
  // How often a status is written while only its numbers change.
  std::chrono::nanoseconds interval = std::chrono::seconds(5);
  const Clock* clock = nullptr;  // null: system_clock()
};

// How far the judging has come.
struct WatchProgress {
  std::uint64_t steps_fed = 0;  // saved steps that were shown to the rules
  Step last_fed = -1;           // global steps; -1: none
  Step last_known = -1;         // the newest one that the run holds
  // For how long the run has been ahead of the rules; 0 where it is not.
  double lag_seconds = 0;
  // "InProgress", "Completed", "Failed" or "Stopped"
  std::string training_status = "InProgress";
};

/// True where the cloud's evaluator wants rules to stop: the file that the
/// variable SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE names is there.
bool is_told_to_stop();

class RuleWatch {
 public:
  explicit RuleWatch(RuleWatchOptions options);
  /// As `finish`, with what it was told last.
  ~RuleWatch();
  RuleWatch(const RuleWatch&) = delete;
  RuleWatch& operator=(const RuleWatch&) = delete;

  /// Takes the verdicts as they are now, in the order of the rules. Where one
  /// has changed its status, writes it, and begins its actions if it fired;
  /// `stop` is done before this returns.
  void update(std::span<const Verdict> verdicts, const WatchProgress& progress);

  /// The watch was asked to stop: what is in progress is `Stopping`.
  void say_stopping();

  /// The run is gone: nothing is written any more, so that it is not made anew.
  void forget_run();

  /// Waits until every action has ended, writes the last status of each rule,
  /// and lets go of the rules. A second call does nothing.
  void finish();

  /// What was done so far, in the order of beginning.
  std::vector<ActionResult> results() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
