#include "xgboost_report/plot/scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smdebug {
namespace {

// Returns the smallest of 1, 2, 5 and 10 times a power of ten that is at least
// `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    // The tolerance is for rounding: 0.3 / 3 is a little more than 0.1.
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string label_of(double value, double step, double largest) {
  if (largest >= 1e6 || (largest > 0 && largest < 1e-4)) {
    const double digits = std::ceil(std::log10(largest / step)) + 1;
    return fmt::format("{:.{}g}", value,
                       static_cast<int>(std::clamp(digits, 1.0, 15.0)));
  }
  const double decimals = std::max(0.0, -std::floor(std::log10(step)));
  return fmt::format("{:.{}f}", value,
                     static_cast<int>(std::min(decimals, 15.0)));
}

}  // namespace

std::vector<AxisTick> axis_ticks(double low, double high, std::size_t wanted,
                                 bool whole_numbers) {
  double step = round_step((high - low) / static_cast<double>(wanted));
  if (whole_numbers) step = std::max(step, 1.0);
  const double largest = std::max(std::abs(low), std::abs(high));
  const double slack = 1e-9 * (high - low);
  std::vector<AxisTick> ticks;
  for (double i = std::ceil((low - slack) / step);
       i * step <= high + slack && ticks.size() <= 2 * wanted; ++i) {
    const double value = i == 0 ? 0 : i * step;  // no "-0"
    ticks.push_back({value, label_of(value, step, largest)});
  }
  if (ticks.empty()) ticks.push_back({low, label_of(low, step, largest)});
  return ticks;
}

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
      // For a large number, 0.5 is less than its precision.
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
