#pragma once

// VanishingGradient: the mean of a gradient's absolute values is below a
// threshold, so its layer no longer learns.
//
// Our reading where the documents are silent: "any" gradient of the step
// suffices (`aggregate`); gradients without elements are skipped; NaN is never
// below a threshold and is left to ExplodingTensor.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kVanishingGradient;

}  // namespace smdebug
