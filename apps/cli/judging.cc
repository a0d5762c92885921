#include "judging.h"

#include <algorithm>

namespace smdebug {
namespace {

bool is_python(const std::string& rule) {
  return rule.find(".py:") != std::string::npos;
}

Result<std::unique_ptr<Rule>> make_rule(const RuleRequest& request,
                                        const std::string& run,
                                        const Console& console) {
  if (!is_python(request.rule)) {
    auto rule = make_builtin_rule(request.rule, request.given);
    // A name that does not exist is a command line that makes no sense.
    if (!rule && rule.error().code == Error::Code::not_found) {
      return Error{Error::Code::invalid_argument, rule.error().message};
    }
    return rule;
  }
  if (!console.hooks.load_python_rule) {
    return Error{Error::Code::invalid_argument,
                 "rule '" + request.rule +
                     "' is written in Python, which this program does not "
                     "hold; use the command 'smdebug' of the Python package"};
  }
  return console.hooks.load_python_rule(request.rule, request.given, run);
}

}  // namespace

Result<std::vector<std::unique_ptr<Rule>>> make_rules(
    std::span<const RuleRequest> requests, const std::string& run,
    const Console& console) {
  std::vector<std::unique_ptr<Rule>> rules;
  for (const RuleRequest& request :
       requests.empty() ? default_rules() : requests) {
    SMD_TRY(auto rule, make_rule(request, run, console));
    rules.push_back(std::move(rule));
  }
  return rules;
}

int exit_code_of(std::span<const Verdict> verdicts, bool asked) {
  const auto is = [](RuleStatus status) {
    return
        [status](const Verdict& verdict) { return verdict.status == status; };
  };
  if (std::ranges::any_of(verdicts, is(RuleStatus::issues_found))) {
    return kExitRuleFired;
  }
  const bool one_judged =
      std::ranges::any_of(verdicts, is(RuleStatus::no_issues_found));
  const bool one_failed = std::ranges::any_of(verdicts, is(RuleStatus::error));
  return one_failed && (asked || !one_judged) ? kExitError : kExitNothingFound;
}

}  // namespace smdebug
