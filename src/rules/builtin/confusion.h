#pragma once

// Confusion: too few of the predictions of a class are right, or too many of
// them belong to one other class.
//
// Of the predictions of class i, the part whose label is i must be at least
// `min_diag`, and the part whose label is j at most `max_off_diag`, for every
// other j. The documents divide the diagonal by its own sum; with two classes
// or more that could never be healthy, so both are divided by the number of
// predictions of the class.
//
// Our reading where the documents are silent: the matrix is that of one step
// unless `cumulative`; a class that was never predicted is not judged; classes
// outside 0 to category_no - 1 are left out. How rows become classes:
// rules/class_labels.h.
//
// `samples` and `patience` are ours, for a training that has not learned yet
// and for small batches: a class is judged once it was predicted `samples`
// times, and the rule fires after `patience` judged steps in a row beyond the
// limits, in which the worst entry came no nearer to its limit. A step without
// a class to judge counts neither way.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kConfusion;

}  // namespace smdebug
