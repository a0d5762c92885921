#pragma once

// Reductions of whole tensors: those that statistics hold, and those that
// need the elements again (`median`, `prod`, `abs_min`, `abs_std`,
// `abs_variance`). Computed in fp64 from any dtype; integers and bool too.

#include <optional>

#include "smdebug/core/reduction.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

// True if `op` is not among what `TensorStatistics` hold.
bool needs_elements(ReductionOp op);

// Returns `op` over all elements of `view`, as numpy defines it on float64:
// NaN propagates, `l1` and `l2` are of the flattened tensor, `median` of an
// even count is the mean of the middle two, in every framework. Complex
// elements count by their absolute value. `prod` overflows only where the
// result does, not what leads to it. None where there are no elements or none
// are numbers. `statistics` are those of `view`. May allocate.
std::optional<double> reduce_tensor(const TensorView& view,
                                    const TensorStatistics& statistics,
                                    ReductionOp op, Deviation deviation);

// The statistics of a tensor of any strides.
TensorStatistics statistics_of_view(const TensorView& view);

}  // namespace smdebug
