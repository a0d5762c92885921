#pragma once

// LossNotDecreasing: a loss is not lower than it was some steps ago.
//
// Every `num_steps` steps the loss is compared with the newest saved one that
// is at least `num_steps` older: saved every 3 steps with num_steps 10, step
// 21 is compared with 9, and the next comparison is at 33.
//
// Our reading where the documents are silent or disagree: each tensor of each
// worker is a loss of its own. A lower loss fires if it fell by less than
// `diff_percent`; a higher one if it rose by more than
// `increase_threshold_percent`, so a loss that stands still fires and one that
// rises by a little does not; `strict` makes both fire. A loss that is NaN or
// infinite fires at once. Without `mode`, TRAIN steps and those of a run
// without modes are judged: losses of one evaluation are losses of one model,
// and need not fall.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kLossNotDecreasing;

}  // namespace smdebug
