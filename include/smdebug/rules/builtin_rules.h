#pragma once

// The rules that come with the library, by name.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/rule.h"

namespace [[gnu::visibility("default")]] smdebug {

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
  RuleRequest() = default;
  /// Implicit, so that names are requests: {"ExplodingTensor", "AllZero"}.
  RuleRequest(std::string name, std::map<std::string, std::string> parameters)
      : rule(std::move(name)), given(std::move(parameters)) {}
  RuleRequest(std::string name) : rule(std::move(name)) {}
  RuleRequest(const char* name) : rule(name) {}

  std::string rule;
  std::map<std::string, std::string> given;
};

/// Makes the rule of each request, or those of `default_rules` if there are no
/// requests. Fails as `make_builtin_rule`.
Result<std::vector<std::unique_ptr<Rule>>> make_builtin_rules(
    std::span<const RuleRequest> requests);

/// Returns the rules that judge a training if the user names none: those that
/// need no argument and, with `preset=tuned`, produced no false positive on any
/// healthy training of tests/zoo/ (docs/rule-quality.md).
std::span<const RuleRequest> default_rules();

}  // namespace smdebug
