#pragma once

// The elements of an observation as numbers, for rules that a statistic does
// not tell enough. They are read when they are asked for.

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

// All of them.
std::vector<double> values_of(const TensorView& view);

struct ElementValues {
  std::vector<std::int64_t> shape;
  std::vector<double> values;  // in C order
};

// Returns the elements; none where they were not kept, are damaged or are
// strings. Fails with `io`.
Result<std::optional<ElementValues>> element_values(
    const Observation& observation);

}  // namespace smdebug
