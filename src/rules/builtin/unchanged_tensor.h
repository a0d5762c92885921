#pragma once

// UnchangedTensor: a tensor stays the same over its last saved steps.
//
// Our reading where the documents are silent: the newest is compared with each
// of the num_steps - 1 before it, by numpy's allclose; a tensor of another
// shape has changed, an empty one is skipped. Weights stand still while a model
// is evaluated, so without a mode the steps that train are judged. Where the
// elements were not kept, a tensor is unchanged whose statistics are equal to
// the last bit, or its saved reductions if a sum of all elements is among them.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kUnchangedTensor;

}  // namespace smdebug
