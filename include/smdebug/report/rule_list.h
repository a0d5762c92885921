#pragma once

// Lists rules and their parameters, from the parameter tables.

#include <span>
#include <string>

#include "smdebug/rules/rule.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns one line per rule: its name and a summary.
std::string rules_text(std::span<const RuleFactory> rules);

/// Returns one rule in full: condition, parameters, defaults.
std::string rule_text(const RuleFactory& rule);

/// Returns a JSON array with all facts about each rule, indented.
std::string rules_json(std::span<const RuleFactory> rules);

}  // namespace smdebug
