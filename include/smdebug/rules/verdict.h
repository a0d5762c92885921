#pragma once

// The verdict of a rule about a run, the results of the actions on it, and its
// status as recorded beside the run. People read them, programs parse them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

// How bad a finding is, in ascending order. Spelled as in JSON: never rename.
enum class Severity {
  advice,   // healthy trainings have it too: worth a look, never a reason to
            // stop
  serious,  // the result is worse than it could be
  fatal,    // not finite, diverged, or nothing trains: more steps are wasted
};

/// Returns "advice", "serious" or "fatal".
std::string_view severity_name(Severity severity);

/// Returns the severity with that name; none if there is no such one.
std::optional<Severity> find_severity(std::string_view name);

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
  std::string relation;  // "<", ">=": `value` compared with `threshold`
  std::optional<double> threshold;
  // The layers before and after, in order of execution. Only the worst tensor,
  // which the message names, has them, and only if the rule judges layer by
  // layer.
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
  // Name -> text, as the user gave them; without those left at their default.
  std::map<std::string, std::string> parameters = {};
  RuleStatus status = RuleStatus::in_progress;
  std::optional<Severity> severity = {};  // of the finding; none without one
  // Which of the rule's findings it is (`Advice::when`); empty without a
  // finding, and for rules with one kind.
  std::string kind = {};
  std::size_t run = 0;
  StepId step;            // where the rule fired, else the last step judged
  std::string message;    // one sentence: which tensor, at which step, and why
  std::string cause;      // the usual cause; empty without a finding
  std::string advice;     // what to try; empty without a finding
  std::string note = {};  // a fact worth knowing although nothing was found
  std::vector<Evidence> evidence;  // all offenders of the step, worst first
  std::uint64_t steps_judged = 0;
  // Observations that the rule selected, and those of them that it judged.
  std::uint64_t observations_found = 0;
  std::uint64_t observations_judged = 0;
  // An error because the run has no data, or too little, for the rule.
  bool lacks_data = false;
  bool stop_training = false;  // the user asked the rule to end the training
  // Position of the first offender in the step, in order of execution; none if
  // the evidence names no tensor of the step.
  std::optional<std::size_t> position = {};
};

// Spelled as on disk: never rename.
enum class ActionStatus {
  begun,         // in progress, or its process died
  done,          // succeeded
  failed,        // failed; `message` describes the error
  not_repeated,  // not performed, because it had been performed before
};

/// Returns "begun", "done", "failed" or "not_repeated".
std::string_view action_status_name(ActionStatus status);

// The result of an action on a verdict (`actions`).
struct ActionResult {
  std::string rule;    // of the verdict
  std::string action;  // "webhook"
  std::string target;  // the recipient, without secrets; may be empty
  ActionStatus status = ActionStatus::begun;
  std::string message;  // one sentence
};

// The status of a rule, as a monitor records it beside the run
// (docs/actions.md).
struct RecordedStatus {
  std::string key;     // the file's name without its ending: "AllZero_2"
  std::string rule;    // "AllZero"
  std::string status;  // "InProgress", ...
  std::optional<Severity> severity = {};  // of the finding; none without one
  std::string message;                    // of the verdict
  std::string last_modified;              // UTC: "2026-11-21T03:07:24Z"
  std::uint64_t attempt = 0;              // of the training that was judged
  std::uint64_t steps_judged = 0;
  std::uint64_t observations_found = 0;  // that the rule selected
  Step last_step = -1;                   // the last one judged
  Step lag_steps = 0;
  double lag_seconds = 0;
};

}  // namespace smdebug
