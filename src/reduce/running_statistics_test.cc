#include "reduce/running_statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

BlockSums sums_about(double shift, const std::vector<double>& elements) {
  BlockSums sums;
  sums.finite = elements.size();
  sums.shift = shift;
  sums.min = sums.max = elements[0];
  for (double x : elements) {
    sums.distances += x - shift;
    sums.squared_distances += (x - shift) * (x - shift);
    sums.sum_abs += std::abs(x);
    sums.min = std::min(sums.min, x);
    sums.max = std::max(sums.max, x);
    sums.zeros += x == 0 ? 1 : 0;
  }
  return sums;
}

TEST(RunningStatistics, JoinsBlocksSummedAboutDifferentShifts) {
  TensorStatistics whole;
  RunningStatistics running(whole);
  running.add(sums_about(1, {1, 2, 3}));
  EXPECT_EQ(running.shift(), 2);
  running.add(sums_about(2, {0, 10}));
  running.add(sums_about(5, {-4}));
  running.finish(6);
  EXPECT_EQ(whole.count, 6U);
  EXPECT_EQ(whole.min, -4);
  EXPECT_EQ(whole.max, 10);
  EXPECT_EQ(whole.zeros, 1U);
  EXPECT_DOUBLE_EQ(whole.mean, 2);
  EXPECT_DOUBLE_EQ(whole.m2, 1 + 0 + 1 + 4 + 64 + 36);
  EXPECT_DOUBLE_EQ(whole.sum_abs, 20);
  EXPECT_DOUBLE_EQ(whole.sum_squares, 1 + 4 + 9 + 100 + 16);
}

TEST(RunningStatistics, KeepsSmallDeviationsFromALargeMean) {
  TensorStatistics whole;
  RunningStatistics running(whole);
  const double large = 0x1p50;
  running.add(sums_about(large, {large, large + 1}));
  for (int i = 1; i < 1000; ++i) {
    running.add(sums_about(running.shift(), {large, large + 1}));
  }
  running.finish(2000);
  // Every element lies half from the mean.
  EXPECT_EQ(whole.mean, large + 0.5);
  EXPECT_EQ(whole.m2, 2000 * 0.25);
}

TEST(RunningStatistics, IgnoresABlockWithoutFiniteElements) {
  TensorStatistics whole;
  RunningStatistics running(whole);
  running.add(BlockSums{});
  running.add(NonFiniteCounts{.nan = 1, .positive_inf = 2, .negative_inf = 3});
  running.finish(6);
  EXPECT_EQ(whole,
            (TensorStatistics{
                .count = 6, .nan = 1, .positive_inf = 2, .negative_inf = 3}));
}

TEST(RunningStatistics, NeverLetsRoundingMakeAVarianceNegative) {
  TensorStatistics whole;
  RunningStatistics running(whole);
  running.add({.finite = 3, .distances = 0.3, .squared_distances = 0.0299999});
  EXPECT_EQ(whole.m2, 0);
}

TEST(RunningStatistics, LetsSquaresBeyondFp64BeSeen) {
  const double inf = std::numeric_limits<double>::infinity();
  TensorStatistics whole;
  RunningStatistics running(whole);
  running.add({.finite = 2, .distances = 1e200, .squared_distances = inf});
  EXPECT_FALSE(std::isfinite(whole.m2));
}

}  // namespace
}  // namespace smdebug
