#pragma once

// Finds NaN and infinity in one observation: the counts, and the index of the
// first.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

struct NonFinite {
  // None if only reductions were saved: they prove the presence of such
  // elements, not their number.
  struct Counts {
    std::uint64_t nan = 0;
    std::uint64_t positive_inf = 0;
    std::uint64_t negative_inf = 0;
  };
  std::optional<Counts> counts;
  bool has_nan = false;
  bool has_inf = false;
  std::string seen_in;  // the reduction: "mean"; empty with counts
};

// Returns the non-finite elements of `observation`; none if it cannot be
// judged. Fails with `io`.
Result<std::optional<NonFinite>> find_non_finite(
    const Observation& observation);

// Returns the index, by dimension, of the first element in C order that is NaN
// or, unless `only_nan`, infinite; none if no element is.
std::optional<std::vector<std::int64_t>> first_non_finite(
    const TensorView& view, bool only_nan);

}  // namespace smdebug
