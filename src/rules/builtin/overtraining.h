#pragma once

// Overtraining: neither the training loss nor the validation loss has improved
// for long, so further steps cost time and bring nothing, or harm.
//
// Our reading where the documents are silent or disagree: a loss is a new best
// only below the best so far minus `delta`, an absolute number. Both losses
// must have stopped: one alone is the noise of small batches. Losses are paired
// by name as in Overfit; those of several workers at one step are averaged.
// NaN is no new best. Without a validation loss nothing is judged, and the rule
// says so.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kOvertraining;

}  // namespace smdebug
