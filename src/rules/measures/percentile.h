#pragma once

// Percentiles of a tensor's elements.

#include <optional>

#include "smdebug/core/tensor_view.h"

namespace smdebug {

// Returns the `high`-th percentile less the `low`-th, with linear
// interpolation as numpy.percentile has it; none of an empty tensor and of one
// with a NaN. Keeps all elements in memory as doubles while it looks.
std::optional<double> percentile_range(const TensorView& view, double low,
                                       double high);

}  // namespace smdebug
