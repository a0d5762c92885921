#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace smdebug {

// Returns the median of at least one value; of an even number of values, the
// mean of the middle two. Reorders them.
inline double reordered_median(std::span<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return *middle / 2 + *std::max_element(values.begin(), middle) / 2;
}

}  // namespace smdebug
