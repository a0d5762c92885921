#pragma once

// `RunningStatistics` joins the blocks that the kernel sums up into the
// statistics of the whole tensor: Chan's formula, block by block.
//
// Each block is summed about a shift, the mean of the block before it, so that
// squares of small deviations from a large mean keep their digits. The running
// mean is held as a distance from the newest shift for the same reason: the
// distance between two neighbours is exact where their sum would be rounded.
// Where a block lies far from its shift, that distance is itself part of the
// variance, so the error stays relative to it.

#include <algorithm>
#include <cstdint>

#include "smdebug/core/statistics.h"

namespace smdebug {

// The sums over the finite elements of one block.
struct BlockSums {
  std::uint64_t finite = 0;
  double shift = 0;
  double distances = 0;          // of x - shift
  double squared_distances = 0;  // of (x - shift)^2
  double sum_abs = 0;
  double min = 0;  // meaningless where `finite` is 0, like `max`
  double max = 0;
  std::uint64_t zeros = 0;
};

// What a block has beside finite elements.
struct NonFiniteCounts {
  std::uint64_t nan = 0;
  std::uint64_t positive_inf = 0;
  std::uint64_t negative_inf = 0;
};

class RunningStatistics {
 public:
  // Writes to `whole`, which is empty and outlives this. In place, because a
  // copy of what was just written in parts makes a small tensor wait.
  explicit RunningStatistics(TensorStatistics& whole) : whole_(whole) {}

  // How many finite elements were added.
  std::uint64_t finite() const { return finite_; }

  // The mean of the last block, about which the next one is best summed; 0
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
    // Not max(): a NaN, of squares beyond fp64, has to come through.
    const double block_m2 = rounded_m2 < 0 ? 0 : rounded_m2;
    s.sum_squares += block_m2 + here * block_mean * block_mean;

    const double distance = distance_ + (shift_ - block.shift);
    const double gap = block_distance - distance;
    s.m2 += block_m2 + gap * gap * (before * part);
    distance_ = distance + gap * part + (block.shift - block_mean);
    shift_ = block_mean;
    finite_ += block.finite;
  }

  // Sets what is known at the end only: the count of all elements, the mean.
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

}  // namespace smdebug
