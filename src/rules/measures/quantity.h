#pragma once

// The number that a rule judges, from the cheapest source that has it: the
// statistics, else a reduction that was saved, else the elements. Rules use
// this and never ask where an observation came from.

#include <optional>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/reduction.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

// Returns `op` of the observed tensor; none if the tensor has no elements, was
// not saved in a form that yields `op`, or cannot be read. Fails with `io`.
Result<std::optional<double>> quantity(const Observation& observation,
                                       ReductionOp op);

// Returns the reduction that was saved, or none.
std::optional<double> saved_reduction(const Observation& observation,
                                      ReductionOp op);

// Returns the population variance, also from a saved `std`; none as above.
// Fails with `io`.
Result<std::optional<double>> variance_of(const Observation& observation);

// Returns the elements, valid as long as the observation; none if they were not
// saved or are damaged: the reader reports damage, and rules judge the rest.
// Fails with `io`.
Result<std::optional<TensorView>> any_elements_of(
    const Observation& observation);

// Same, but none if the elements are strings.
Result<std::optional<TensorView>> elements_of(const Observation& observation);

// Returns the statistics, computed from the elements if the run has none; none
// if there are no elements either. Fails with `io`.
Result<std::optional<TensorStatistics>> full_statistics(
    const Observation& observation);

}  // namespace smdebug
