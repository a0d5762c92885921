#pragma once

// Statistics of noisy numbers that a few outliers do not move.

#include <span>

namespace smdebug {

// Returns the value below which lies this share of the values, which must not
// be empty; 0.5: the median, the mean of the middle two if their number is
// even.
double quantile(std::span<const double> values, double share);
double median(std::span<const double> values);

// Returns the standard deviation of the noise around a trend: the median
// absolute deviation of the differences of neighbors, scaled for normal noise.
// 0 for fewer than three values.
double noise(std::span<const double> values);

// Returns the statistic of the rank test of Mann and Whitney: how many standard
// deviations the ranks of `now` are below those that they would have if both
// groups were alike; negative if they are above. Equal values are not corrected
// for, which makes it smaller. Neither group may be empty.
double rank_test(std::span<const double> before, std::span<const double> now);

}  // namespace smdebug
