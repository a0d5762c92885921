#pragma once

// `TensorStatistics` is the result of one pass over a tensor. Capture computes
// it while it copies, index files contain it, rules read it. The moments are
// over the finite elements, so that one NaN does not hide the rest;
// `reduction_from` derives the results that a framework would compute.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "smdebug/core/reduction.h"

namespace [[gnu::visibility("default")]] smdebug {

struct TensorStatistics {
  std::uint64_t count = 0;  // all elements
  std::uint64_t nan = 0;
  std::uint64_t positive_inf = 0;
  std::uint64_t negative_inf = 0;
  std::uint64_t zeros = 0;
  // Over the finite elements; 0 if there are none.
  double min = 0;
  double max = 0;
  double mean = 0;
  double m2 = 0;  // sum of squared distances from `mean`
  double sum_abs = 0;
  double sum_squares = 0;

  /// Returns the number of finite elements.
  std::uint64_t finite() const {
    return count - nan - positive_inf - negative_inf;
  }
  bool has_non_finite() const { return finite() != count; }

  /// Adds the elements of `other` by Chan's formula, exact up to rounding.
  /// Merging all shards or chunks of a tensor gives its statistics.
  void merge(const TensorStatistics& other);

  /// Makes these the statistics of a tensor that has each element `times`
  /// times.
  void repeat(std::uint64_t times);

  friend bool operator==(const TensorStatistics&,
                         const TensorStatistics&) = default;
};

// The histogram of a tensor for TensorBoard: the number of elements between
// each pair of adjacent edges, and figures for the whole tensor.
struct Histogram {
  // Over all elements, including NaN and infinities, as numpy computes them.
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  std::uint64_t count = 0;

  // `buckets[i]` counts the elements from `limits[i - 1]` up to `limits[i]`.
  // The first bucket, for elements below `limits[0]`, is always 0.
  std::span<const double> limits;  // lives as long as the program
  std::vector<double> buckets;
};

// The divisor of `std` and `variance`: n, or n - 1 as in torch.
enum class Deviation { population, sample };

/// Returns `op` over all elements, including NaN and infinities, as numpy does;
/// none if it cannot be derived from statistics (`median`, `prod`, `abs_min`,
/// `abs_std`, `abs_variance`) or there are no elements.
std::optional<double> reduction_from(const TensorStatistics& statistics,
                                     ReductionOp op, Deviation deviation);

}  // namespace smdebug
