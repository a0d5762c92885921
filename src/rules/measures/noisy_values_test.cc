// Expected values are from numpy.quantile and scipy.stats.mannwhitneyu with
// method="asymptotic", use_continuity=False.

#include "rules/measures/noisy_values.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(NoisyValues, QuantilesLieBetweenNeighbors) {
  const std::vector<double> values = {7, 1, 3, 10};
  EXPECT_DOUBLE_EQ(median(values), 5);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 10);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{4}), 4);
}

TEST(NoisyValues, NoiseIsThatAroundATrend) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 0.25);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(0.01 * i + normal(random));
  EXPECT_NEAR(noise(values), 0.25, 0.01);
  EXPECT_EQ(noise(std::vector<double>{1, 9}), 0);
}

TEST(NoisyValues, RanksSayWhichGroupIsLower) {
  const std::vector<double> before = {5, 6, 7, 8, 9};
  const std::vector<double> now = {1, 2, 6.5, 3};
  EXPECT_NEAR(rank_test(before, now), 1.9595917942265426, 1e-12);
  EXPECT_NEAR(rank_test(now, before), -1.9595917942265426, 1e-12);
  EXPECT_EQ(rank_test(before, before), 0);
}

}  // namespace
}  // namespace smdebug
