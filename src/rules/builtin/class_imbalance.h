#pragma once

// ClassImbalance: one class has many more labels than another, or the model
// mispredicts one class most of the time.
//
// Labels are counted over all steps; nothing is judged before `samples` of them
// were seen.
//
// Our reading where the documents are silent: only classes that were seen
// count; labels of -100, which PyTorch's losses ignore, and NaN do not. How
// rows become classes and which predictions go with which labels:
// rules/class_labels.h. Labels without predictions are counted for the
// imbalance; a run in which none had any is not called free of issues.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kClassImbalance;

}  // namespace smdebug
