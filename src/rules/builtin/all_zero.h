#pragma once

// AllZero: too many elements of a tensor are zero.
//
// Our reading where the documents are silent: exactly the threshold fires, and
// empty tensors are skipped. Where only reductions were saved they tell that
// all elements are zero, or not all; so only a threshold of 100 is judged.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kAllZero;

}  // namespace smdebug
