#pragma once

// The elements of an observation as numbers, read on request, for rules that
// need more than statistics.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

// Calls `take` with the elements of `view` in C order, block by block. Complex
// elements give their absolute value, strings nothing; integers beyond 2^53
// are rounded.
void for_each_block(const TensorView& view,
                    const std::function<void(std::span<const double>)>& take);

// Returns all elements, as `for_each_block` passes them.
std::vector<double> values_of(const TensorView& view);

struct ElementValues {
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // in C order
};

// Returns the elements; none if they were not saved, are damaged or are
// strings. Fails with `io`.
Result<std::optional<ElementValues>> element_values(
    const Observation& observation);

// Returns the `high`-th percentile minus the `low`-th, with linear
// interpolation as in numpy.percentile; none if the tensor is empty or has a
// NaN. Needs memory for all elements as doubles.
std::optional<double> percentile_range(const TensorView& view, double low,
                                       double high);

}  // namespace smdebug
