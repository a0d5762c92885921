#pragma once

// ExplodingTensor: a tensor holds NaN or an infinity.
//
// Our reading where the documents are silent: integers, booleans and strings
// are skipped; where only reductions were saved, NaN or infinity in mean, sum,
// l1 or l2, or NaN in min or max, shows that the tensor had some.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kExplodingTensor;

}  // namespace smdebug
