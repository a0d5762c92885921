#include "xgboost_report/plot/value_bins.h"

#include <algorithm>
#include <cmath>

namespace smdebug {

bool is_shown(double value) { return std::abs(value) <= kLargestShown; }

std::size_t bin_of(const ValueBins& bins, double value) {
  const auto above = std::ranges::upper_bound(bins.edges, value);
  const auto edges_below = above - bins.edges.begin();
  const auto last = static_cast<std::ptrdiff_t>(bins.counts.size()) - 1;
  return static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(edges_below - 1, 0, last));
}

ValueBins bins_of(std::span<const double> values, std::size_t count) {
  double low = 0, high = 1;
  if (!values.empty()) {
    const auto [smallest, largest] = std::ranges::minmax(values);
    low = smallest;
    high = largest;
    if (low == high) {
      // Half to each side is nothing beside a large number.
      const double half = std::max(0.5, std::abs(low) * 1e-9);
      low -= half;
      high += half;
    }
  }
  ValueBins bins;
  for (std::size_t i = 0; i <= count; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(count);
    bins.edges.push_back(i == count ? high : low + part * (high - low));
  }
  bins.counts.resize(count);
  for (const double value : values) ++bins.counts[bin_of(bins, value)];
  return bins;
}

}  // namespace smdebug
