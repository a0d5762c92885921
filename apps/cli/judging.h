#pragma once

// What the judging sub-commands share: rules as the user asked for them, and
// what their verdicts mean for the exit code.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/rule.h"
#include "smdebug/rules/verdict.h"

#include "console.h"

namespace smdebug {

// Makes the rules of `requests`, or the default set where there are none, to
// judge `run`. Fails with `invalid_argument` or `invalid_config`, or as the
// rule in Python does.
Result<std::vector<std::unique_ptr<Rule>>> make_rules(
    std::span<const RuleRequest> requests, const std::string& run,
    const Console& console);

// `asked`: the user named the rules. A rule of the default set that found
// nothing to judge is no failure as long as another one judged.
int exit_code_of(std::span<const Verdict> verdicts, bool asked);

}  // namespace smdebug
