#pragma once

// DeadRelu: most units of a ReLU layer hardly ever give anything but zero, and
// with them their weights no longer learn.
//
// Our reading where the documents are silent: a unit is an index behind the
// batch, active in a sample if its output is above 0, and counted within the
// step; where a step shows one sample of each unit, over the last 10 steps.
// NaN is no sample.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kDeadRelu;

}  // namespace smdebug
