#pragma once

// Counts numbers between edges at equal distances.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

// Numbers beyond this are left out of reports as infinity is: the distance of
// two of them may not be a number.
inline constexpr double kLargestShown = 1e300;

bool is_shown(double value);

// Returns `count` bins from the smallest to the largest of `values`, which are
// all shown; from half below to half above where they are equal, and from 0 to
// 1 where there are none.
ValueBins bins_of(std::span<const double> values, std::size_t count);

// The bin that `value` lies in. What lies outside belongs to the nearest.
std::size_t bin_of(const ValueBins& bins, double value);

}  // namespace smdebug
