#pragma once

// Overfit: the validation loss is higher than the training loss by more than
// a ratio, so the model learns its training set by heart.
//
// An evaluation is the longest run of saved EVAL steps; it closes with the
// next TRAIN step or the end of the run. The mean of its losses is compared
// with the mean of the TRAIN losses saved since the evaluation before.
//
// Our reading where the documents are silent: losses are paired by name, those
// of all workers are averaged; without modes, XGBoost's `train-x` is compared
// with `validation-x`, `eval-x` or `test-x` of the same step. A loss that is
// not finite is left out. A mean training loss of zero or below has no ratio:
// such an evaluation is not judged. `start_step` holds the rule back, not the
// losses: evaluations before it count towards `patience`.
//
// `pass_new_best` is ours: a large ratio beside a validation loss that still
// falls is a training loss that goes to 0, not a model that gets worse.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kOverfit;

}  // namespace smdebug
