#pragma once

// PoorWeightInitialization: the first steps show that the weights were badly
// chosen: activations of very different variance, gradients with next to no
// spread, or a loss that does not fall.
//
// Our reading where the documents are silent: the variances are those of the
// inputs of activations; steps that train are counted as they were saved; each
// of the three checks suffices, and one that lacks its tensors is named. Where
// of a gradient only the bounds were kept, they tell if even they lie closer
// than the range.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kPoorWeightInitialization;

}  // namespace smdebug
