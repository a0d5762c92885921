#pragma once

// Verdicts and the results of actions as JSON. Every `--json` option, the
// status files beside a run and the input of actions have this form.

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
