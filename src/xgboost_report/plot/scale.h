#pragma once

// Scales of plots: the ticks of an axis, and the bins of a histogram.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

struct AxisTick {
  double value = 0;
  std::string label;
};

// Returns about `wanted` ticks between `low` and `high`, and at least one, at
// multiples of 1, 2 or 5 times a power of ten; only at integers with
// `whole_numbers`. `low` and `high` are finite, and `low` is less than `high`.
// Labels have enough digits to differ from each other.
std::vector<AxisTick> axis_ticks(double low, double high, std::size_t wanted,
                                 bool whole_numbers = false);

// Reports leave out larger numbers as they do infinity: the difference of two
// of them may overflow.
inline constexpr double kLargestShown = 1e300;

bool is_shown(double value);

// Returns `count` bins of equal width from the smallest to the largest of
// `values`, all of which must be shown. If they are all equal, the bins extend
// from half below to half above; without values, from 0 to 1.
ValueBins bins_of(std::span<const double> values, std::size_t count);

// Returns the index of the bin that contains `value`, or of the nearest bin if
// `value` is outside of all.
std::size_t bin_of(const ValueBins& bins, double value);

}  // namespace smdebug
