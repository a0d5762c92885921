#pragma once

// Where an axis has its ticks: at multiples of 1, 2 or 5 times a power of ten.

#include <cstddef>
#include <string>
#include <vector>

namespace smdebug {

struct AxisTick {
  double value = 0;
  std::string label;
};

// Returns ticks between `low` and `high`, both finite and `low` below `high`,
// about `wanted` of them and at least one; only whole numbers with
// `whole_numbers`. The labels tell neighbours apart.
std::vector<AxisTick> axis_ticks(double low, double high, std::size_t wanted,
                                 bool whole_numbers = false);

}  // namespace smdebug
