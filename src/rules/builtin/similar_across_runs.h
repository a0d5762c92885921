#pragma once

// SimilarAcrossRuns: a tensor differs from that of another run at the same
// step. It fires when they differ, though its name says the opposite.
//
// Tensors are compared by name and worker at equal global steps, each element
// as numpy.allclose does: |a - b| <= atol + rtol * |b|, where b is the other
// run's.
//
// Our reading where the documents are silent: another shape is a difference; a
// tensor that only one run has is not compared. Where one run did not keep the
// elements, statistics or equal saved reductions are compared: what they say of
// a difference is certain, what they say of likeness is not.
//
// It keeps the selected tensors of one step of the judged run: the other runs
// are fed to the same step before the next one comes.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kSimilarAcrossRuns;

}  // namespace smdebug
