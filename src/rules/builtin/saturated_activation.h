#pragma once

// SaturatedActivation: most units of a tanh or sigmoid layer take inputs for
// which the function is flat, so hardly any gradient passes. The original once
// called it TanhSaturation.
//
// The limits are the documented ones. Our reading where the documents are
// silent: they are chosen by the tensor's name, else by its collection's; a
// unit is an index behind the batch, active in a sample if its input is inside
// the limits, and counted within the step; where a step shows one sample of
// each unit, over the last 10 steps. NaN is no sample.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kSaturatedActivation;

}  // namespace smdebug
