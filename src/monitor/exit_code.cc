#include "smdebug/monitor/exit_code.h"

#include <algorithm>

namespace smdebug {

int exit_code(std::span<const Verdict> verdicts, bool asked) {
  const auto has = [&](RuleStatus status) {
    return std::ranges::find(verdicts, status, &Verdict::status) !=
           verdicts.end();
  };
  if (has(RuleStatus::issues_found)) return kExitRuleFired;
  const bool is_failure =
      has(RuleStatus::error) && (asked || !has(RuleStatus::no_issues_found));
  return is_failure ? kExitError : kExitNothingFound;
}

}  // namespace smdebug
