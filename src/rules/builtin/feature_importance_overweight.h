#pragma once

// FeatureImportanceOverweight: a few features of a boosted model carry nearly
// all of its importance, so it hangs on them.
//
// Our reading where the documents are silent: the importances are all elements
// of the matching tensors of one worker at one step. With `nfeatures` features
// or fewer the share is always 1 and nothing is judged; NaN is left out, and a
// sum that is not positive has no shares.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kFeatureImportanceOverweight;

}  // namespace smdebug
