#pragma once

// What a rule says about a run, in a form that a person reads and a program
// parses.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

// One tensor that met the rule's condition, with the number that did.
struct Evidence {
  std::string tensor;
  std::string worker;
  StepId step;
  std::string quantity;  // "mean |g|"
  double value = 0;
  std::string relation;  // "<", ">=": how `value` stands to `threshold`
  std::optional<double> threshold;
};

// Spelled as in the cloud's job description: never rename.
enum class RuleStatus {
  in_progress,
  no_issues_found,
  issues_found,
  error,
  stopping,
  stopped,
};

/// Returns "InProgress", "NoIssuesFound", ...
std::string_view rule_status_name(RuleStatus status);

struct Verdict {
  std::string rule;
  RuleStatus status = RuleStatus::in_progress;
  std::size_t run = 0;
  StepId step;          // where it fired; the last step judged otherwise
  std::string message;  // one sentence: which tensor, at which step, and why
  std::string advice;   // what to do, one sentence; empty if nothing is wrong
  std::vector<Evidence> evidence;  // all offenders of the step, worst first
  std::uint64_t steps_judged = 0;
  std::uint64_t observations_judged = 0;
  bool stop_training = false;  // the rule was asked to end the training
};

}  // namespace smdebug
