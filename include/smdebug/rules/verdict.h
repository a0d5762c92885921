#pragma once

// What a rule says about a run, in a form that a person reads and a program
// parses.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

// The same quantity of a tensor in a layer next to that of the evidence.
struct AdjacentLayer {
  std::string tensor;
  double value = 0;
};

// One tensor that met the rule's condition, with the number that did.
struct Evidence {
  std::string tensor;
  std::string worker;
  StepId step;
  std::string quantity;  // "mean |g|"
  double value = 0;
  std::string relation;  // "<", ">=": how `value` stands to `threshold`
  std::optional<double> threshold;
  // The layers before and after, in the order in which the step ran them. Only
  // the worst tensor, which the message names, has them, and only if the rule
  // judges layer by layer.
  std::optional<AdjacentLayer> before = {}, after = {};
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
  // As its user gave them, name -> text; what is left to the defaults is not.
  std::map<std::string, std::string> parameters = {};
  RuleStatus status = RuleStatus::in_progress;
  std::size_t run = 0;
  StepId step;          // where it fired; the last step judged otherwise
  std::string message;  // one sentence: which tensor, at which step, and why
  std::string cause;    // what usually leads to it; empty if nothing is wrong
  std::string advice;   // what to try, likewise
  std::vector<Evidence> evidence;  // all offenders of the step, worst first
  std::uint64_t steps_judged = 0;
  // What the rule looks for, and of that, what it could judge.
  std::uint64_t observations_found = 0;
  std::uint64_t observations_judged = 0;
  bool stop_training = false;  // the rule was asked to end the training
  // Where in its step the first offender stands, in the order of execution;
  // none where the evidence names no tensor of it.
  std::optional<std::size_t> position = {};
};

}  // namespace smdebug
