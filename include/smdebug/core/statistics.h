#pragma once

// `TensorStatistics` is what one pass over a tensor leaves behind. Capture
// makes it while it copies, index files carry it, rules read it. The moments
// are over the finite elements, so one NaN does not hide the rest; what a
// framework would have answered is derived by `reduction_from`.

#include <cstdint>
#include <optional>

#include "smdebug/core/reduction.h"

namespace smdebug {

struct TensorStatistics {
  std::uint64_t count = 0;  // all elements
  std::uint64_t nan = 0;
  std::uint64_t positive_inf = 0;
  std::uint64_t negative_inf = 0;
  std::uint64_t zeros = 0;
  // Over the finite elements; 0 where there are none.
  double min = 0;
  double max = 0;
  double mean = 0;
  double m2 = 0;  // sum of squared distances from `mean`
  double sum_abs = 0;
  double sum_squares = 0;

  std::uint64_t finite() const {
    return count - nan - positive_inf - negative_inf;
  }
  bool has_non_finite() const { return finite() != count; }

  /// Adds the elements behind `other`: Chan's formula, exact but for rounding.
  /// Merging shards or chunks gives the statistics of the whole.
  void merge(const TensorStatistics& other);

  friend bool operator==(const TensorStatistics&,
                         const TensorStatistics&) = default;
};

// What `std` and `variance` divide by: n, or n - 1 as torch does.
enum class Deviation { population, sample };

/// Returns what `op` gives over all elements, NaN and infinities included, as
/// numpy does; none where the statistics do not hold it (`median`, `prod`,
/// `abs_min`, `abs_std`, `abs_variance`) or there are no elements.
std::optional<double> reduction_from(const TensorStatistics& statistics,
                                     ReductionOp op, Deviation deviation);

}  // namespace smdebug
