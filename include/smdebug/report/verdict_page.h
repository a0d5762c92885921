#pragma once

// Verdicts as text for a terminal and as JSON for a program: the same in the
// command line, in Python and in the page of a run.

#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/action_result.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

/// Returns how a list of verdicts names the rule of `verdict`: its name and,
/// where another of `among` has the same, the parameters that its user gave:
/// "AllZero (tensor_regex=.*_input_0)".
std::string rule_title(const Verdict& verdict, std::span<const Verdict> among);

/// Returns a verdict as lines: what was found, the evidence, what to do. Ends
/// with a line feed.
std::string verdict_text(const Verdict& verdict);

/// Returns one line per verdict: the rule, its status, the sentence.
std::string verdicts_text(std::span<const Verdict> verdicts);

/// Returns a verdict as a JSON object on one line.
std::string verdict_json(const Verdict& verdict);

/// The same of each.
std::vector<std::string> verdicts_json(std::span<const Verdict> verdicts);

/// Returns one line that says what was done: "webhook http://host/…: failed:
/// …", without a line end.
std::string action_text(const ActionResult& result);

}  // namespace smdebug
