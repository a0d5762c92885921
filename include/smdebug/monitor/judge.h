#pragma once

// Judges the complete steps of a run by built-in rules, in one call:
//
//     const auto result = judge("runs/a", {"ExplodingTensor"});
//     if (!result) return fail(result.error().message);
//     for (const Verdict& verdict : result->verdicts) ...
//
// `RunMonitor` does it for your own rules, with actions, and while the run
// grows; `StepMonitor` inside the training.

#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/monitor/monitor_result.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/builtin_rules.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns the verdict of each rule, in the order of `rules`; without rules,
/// those of `default_rules`. Writes nothing beside the run. Fails as
/// `make_builtin_rules`, and as `Trial::open` and `Trial::feed` if the run, or
/// one that a rule compares it with, cannot be read; a missing run is
/// `not_found`.
Result<MonitorResult> judge(const std::string& location,
                            const std::vector<RuleRequest>& rules = {});

/// Does the same for a trial that is open.
Result<MonitorResult> judge(Trial& trial,
                            const std::vector<RuleRequest>& rules = {});

}  // namespace smdebug
