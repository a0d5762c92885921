#pragma once

// Verdicts as text for a terminal and as JSON for a program, the same for the
// command line, Python and the overview of a run.

#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns the rule's name in a list of verdicts. If another verdict of `among`
/// has the same name, adds the parameters that the user gave: "AllZero
/// (tensor_regex=.*_input_0)".
std::string rule_title(const Verdict& verdict, std::span<const Verdict> among);

/// Returns a verdict as lines: finding, evidence, advice. Ends with a line
/// feed.
std::string verdict_text(const Verdict& verdict);

/// Returns one line per verdict: the rule, its status, the message.
std::string verdicts_text(std::span<const Verdict> verdicts);

/// Returns a verdict as a JSON object on one line.
std::string verdict_json(const Verdict& verdict);

/// Same for each verdict.
std::vector<std::string> verdicts_json(std::span<const Verdict> verdicts);

/// Returns the result of an action as one line without line end: "webhook
/// http://host/…: failed: …".
std::string action_text(const ActionResult& result);

}  // namespace smdebug
