#pragma once

// The rules that come with the library, by name.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

/// Returns all built-in rules, sorted by name.
std::span<const RuleFactory> builtin_rules();

/// Returns the built-in rule of that name, or null. Ignores case and
/// underscores: "vanishing_gradient" is "VanishingGradient".
const RuleFactory* find_builtin_rule(std::string_view name);

/// Makes a built-in rule. Fails with `not_found` for an unknown name, listing
/// the nearest ones, `unsupported` for a profiler rule of the cloud, and
/// `invalid_config` for a wrong parameter.
Result<std::unique_ptr<Rule>> make_builtin_rule(
    std::string_view name, const std::map<std::string, std::string>& given);

// A rule and its parameters, as a user requests them.
struct RuleRequest {
  std::string rule;
  std::map<std::string, std::string> given;
};

/// Returns the rules that judge a training if the user names none: those that
/// need no argument and, with `preset=tuned`, produced no false positive on any
/// healthy training of tests/zoo/ (docs/rule-quality.md).
std::span<const RuleRequest> default_rules();

}  // namespace smdebug
