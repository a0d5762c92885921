#pragma once

// Reductions of whole tensors: those that follow from statistics, and those
// that need the elements again (`median`, `prod`, `abs_min`, `abs_std`,
// `abs_variance`). Computed in fp64 for every dtype, including integers and
// bool.

#include <optional>

#include "smdebug/core/reduction.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns true if `op` cannot be computed from `TensorStatistics`.
bool needs_elements(ReductionOp op);

/// Returns `op` over all elements of `view`, as numpy defines it for float64:
/// NaN propagates, `l1` and `l2` are norms of the flattened tensor, and the
/// `median` of an even count is the mean of the middle two, in every framework.
/// Complex elements count by their absolute value. `prod` overflows only if the
/// result does; intermediate products do not matter. Returns nothing for empty
/// tensors and strings. `statistics` are those of `view`. `median` allocates
/// 8 bytes per element; all reductions take time linear in the elements.
std::optional<double> reduce_tensor(const TensorView& view,
                                    const TensorStatistics& statistics,
                                    ReductionOp op, Deviation deviation);

/// Returns the statistics of a tensor with any strides. Allocates nothing.
TensorStatistics statistics_of_view(const TensorView& view);

}  // namespace smdebug
