#pragma once

// What rules there are and what each takes, made from their parameter tables.

#include <span>
#include <string>

#include "smdebug/rules/rule.h"

namespace smdebug {

/// Returns one line per rule: its name and what it means.
std::string rules_text(std::span<const RuleFactory> rules);

/// Returns one rule in full: when it fires, its parameters, their defaults.
std::string rule_text(const RuleFactory& rule);

/// Returns a JSON array with everything of each rule, indented.
std::string rules_json(std::span<const RuleFactory> rules);

}  // namespace smdebug
