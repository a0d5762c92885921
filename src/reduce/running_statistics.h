#pragma once

// `RunningStatistics` combines the blocks that the kernel sums into the
// statistics of the whole tensor, one block at a time, by Chan's formula.
//
// Each block is summed relative to a shift, the mean of the block before it, so
// that squares of small deviations from a large mean keep their precision. The
// running mean is stored as its distance from the newest shift for the same
// reason: the difference of two close numbers is exact, but their sum is
// rounded. If a block is far from its shift, this distance is itself part of
// the variance, so the error remains small relative to it.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "smdebug/core/statistics.h"

namespace smdebug {

// The sums over the finite elements of one block.
struct BlockSums {
  std::uint64_t finite = 0;
  double shift = 0;
  double distances = 0;          // of x - shift
  double squared_distances = 0;  // of (x - shift)^2
  double sum_abs = 0;
  double min = 0;  // undefined if `finite` is 0, like `max`
  double max = 0;
  std::uint64_t zeros = 0;
};

// The other elements of a block.
struct NonFiniteCounts {
  std::uint64_t nan = 0;
  std::uint64_t positive_inf = 0;
  std::uint64_t negative_inf = 0;
};

class RunningStatistics {
 public:
  // Writes to `whole`, which must be empty and outlive this. A result returned
  // by value would be slower for small tensors: copying a struct right after
  // its members were written stalls on store forwarding.
  explicit RunningStatistics(TensorStatistics& whole) : whole_(whole) {}

  // Returns the number of finite elements so far.
  std::uint64_t finite() const { return finite_; }

  // Returns the best shift for the next block: the mean of the last one; 0
  // before the first.
  double shift() const { return shift_; }

  void add(const NonFiniteCounts& block) {
    whole_.nan += block.nan;
    whole_.positive_inf += block.positive_inf;
    whole_.negative_inf += block.negative_inf;
  }

  void add(const BlockSums& block) {
    if (block.finite == 0) return;
    TensorStatistics& s = whole_;
    s.min = finite_ == 0 ? block.min : std::min(s.min, block.min);
    s.max = finite_ == 0 ? block.max : std::max(s.max, block.max);
    s.zeros += block.zeros;
    s.sum_abs += block.sum_abs;

    if (finite_ == 0) shift_ = block.shift;
    const auto before = static_cast<double>(finite_);
    const auto here = static_cast<double>(block.finite);
    const double part = here / (before + here);
    const double block_distance = block.distances / here;
    const double block_mean = block.shift + block_distance;
    const double rounded_m2 =
        block.squared_distances - block.distances * block_distance;
    // Rounding can make it slightly negative. std::max(0, m2) would turn a NaN,
    // which comes from squares beyond the range of fp64, into 0.
    const double block_m2 = rounded_m2 < 0 ? 0 : rounded_m2;
    s.sum_squares += block_m2 + here * block_mean * block_mean;

    // The mean so far, as a distance from the block's shift, and the gap
    // between it and the block's mean.
    const double distance = distance_ + (shift_ - block.shift);
    const double gap = block_distance - distance;
    s.m2 += block_m2 + gap * gap * (before * part);
    distance_ = distance + gap * part + (block.shift - block_mean);
    shift_ = block_mean;
    finite_ += block.finite;
  }

  // Sets the count of all elements and the mean.
  void finish(std::uint64_t count) {
    whole_.count = count;
    whole_.mean = shift_ + distance_;
  }

 private:
  TensorStatistics& whole_;
  std::uint64_t finite_ = 0;
  double shift_ = 0;
  double distance_ = 0;  // the mean of all blocks is shift_ + distance_
};

// The next two functions let tests run the kernel on every SIMD target of this
// CPU. Otherwise the kernel uses the best target.

// Returns the compiled targets that this CPU supports, best first.
std::vector<std::int64_t> statistics_kernel_targets();

// Makes the kernel use `target` from now on; 0 restores the best one.
void use_statistics_kernel_target(std::int64_t target);

}  // namespace smdebug
