#pragma once

// How rules write numbers, steps and tensors in their sentences, so that all
// of them read alike.

#include <string>
#include <string_view>

#include "smdebug/core/observation.h"
#include "smdebug/rules/rule.h"
#include "smdebug/rules/verdict.h"

#include "core/step_text.h"

namespace smdebug {

// Two significant digits: "3.2e-09", "0.12".
std::string short_number(double value);

// "gradient/Net_fc1.weight", with " (worker_3)" behind it for any worker but
// the first.
std::string tensor_text(std::string_view name, std::string_view worker);

// The evidence that `observation` gives at `step`; number and threshold are
// left to the caller.
Evidence evidence_of(const Observation& observation, const StepId& step);

// Copies the usual cause, what to try and the severity to `finding`.
void set_advice(Finding& finding, const Advice& advice);

}  // namespace smdebug
