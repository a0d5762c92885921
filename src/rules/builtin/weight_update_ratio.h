#pragma once

// WeightUpdateRatio: the weights of a layer change too much from one saved step
// to another, or next to nothing.
//
// Our reading where the documents are silent: the ratio is the Euclidean norm
// of the change over that of the weights before it. Integer tensors are
// skipped, and weights that seem to be frozen: those that never changed and of
// which the run holds no gradient, while other weights do change or have one.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kWeightUpdateRatio;

}  // namespace smdebug
