#pragma once

// The rules of one run with their status files and their actions: what the
// judging sub-commands share of actions/rule_watch.h.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/actions/action.h"
#include "smdebug/actions/rule_watch.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/runner.h"

#include "console.h"

namespace smdebug {

class WatchedRules {
 public:
  // Whether files are written beside the run.
  enum class Files { written, untouched };

  WatchedRules(const Console& console, Files files)
      : console_(console), files_(files) {}

  // Adds what is done when a rule fires. Without `stop_training`, `stop` ends
  // the process that the run names. Fails with `invalid_config`.
  Status add_actions(std::span<const ActionRequest> requests,
                     std::function<Result<StopOutcome>()> stop_training = {});

  // The run is there. Both outlive `finish`.
  void open(Trial& trial, const RuleRunner& runner);

  // After each step that was fed: acts at once where a rule fired at it.
  void on_step(const StepId& step);

  // Now and then: rules may fire without a step.
  void look();

  // "3 steps (1.2 s) behind the training"; empty where the rules keep up.
  std::string lag_text() const;

  void say_stopping();
  void forget_run();

  // No step will follow. Writes the reports that rules stand for, waits for
  // the actions, and returns what was done.
  std::vector<ActionResult> finish(const std::string& training_status);

 private:
  void update(bool asks_for_lag);
  void measure_lag(bool asks_the_run);
  void write_reports();

  const Console& console_;
  Files files_;
  std::vector<std::shared_ptr<Action>> actions_;
  Trial* trial_ = nullptr;
  const RuleRunner* runner_ = nullptr;
  std::unique_ptr<RuleWatch> watch_;
  WatchProgress progress_;
  bool is_run_gone_ = false;
  std::chrono::nanoseconds next_lag_{0};
  std::optional<std::chrono::nanoseconds> behind_since_;
};

}  // namespace smdebug
