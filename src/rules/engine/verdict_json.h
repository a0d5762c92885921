#pragma once

// The one JSON of verdicts and of what was done about them: what every
// `--json` shows, what lies beside a run, and what an action is handed.

#include <span>

#include "smdebug/core/mode.h"
#include "smdebug/rules/verdict.h"

#include "base/json.h"

namespace smdebug {

Json to_json(const StepId& step);
Json to_json(const Evidence& evidence);
Json to_json(const Verdict& verdict);
Json to_json(const ActionResult& result);
Json to_json(std::span<const Verdict> verdicts);
Json to_json(std::span<const ActionResult> results);

}  // namespace smdebug
