#pragma once

// The mean of numbers that come one after the other.

#include <cstdint>

namespace smdebug {

struct RunningMean {
  std::uint64_t count = 0;
  double mean = 0;  // 0 before the first number

  void add(double value) {
    ++count;
    mean += (value - mean) / static_cast<double>(count);
  }
};

}  // namespace smdebug
