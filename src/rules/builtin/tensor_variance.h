#pragma once

// TensorVariance: the variance of a tensor is too large or too small.
//
// Our reading where the documents are silent: the variance is the population
// variance, and a threshold that is not given is not checked. Where only
// reductions were saved, theirs is taken, however it was computed.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kTensorVariance;

}  // namespace smdebug
