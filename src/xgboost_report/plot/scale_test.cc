#include "xgboost_report/plot/scale.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(double low, double high, std::size_t wanted,
                                bool whole_numbers = false) {
  std::vector<std::string> found;
  for (const AxisTick& tick : axis_ticks(low, high, wanted, whole_numbers)) {
    found.push_back(tick.label);
  }
  return found;
}

TEST(AxisTicks, StandAtRoundNumbers) {
  EXPECT_THAT(labels(0, 1, 5),
              ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels(-0.3, 0.3, 3), ElementsAre("-0.2", "0.0", "0.2"));
  EXPECT_THAT(labels(3, 97, 5), ElementsAre("20", "40", "60", "80"));
}

TEST(AxisTicks, OfRoundsAreWholeNumbers) {
  EXPECT_THAT(labels(0, 2, 8, true), ElementsAre("0", "1", "2"));
}

TEST(AxisTicks, LieWithinTheAxisAndAreToldApart) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-200, 200);
  for (int i = 0; i < 2000; ++i) {
    const double middle = std::pow(10, exponent(random)) * (i % 2 ? 1 : -1);
    const double width = std::abs(middle) * std::pow(10, -double(i % 9));
    const auto ticks = axis_ticks(middle - width, middle + width, 5);
    ASSERT_FALSE(ticks.empty());
    ASSERT_LE(ticks.size(), 11u);
    std::set<std::string> texts;
    for (const AxisTick& tick : ticks) {
      EXPECT_GE(tick.value, middle - width * 1.001);
      EXPECT_LE(tick.value, middle + width * 1.001);
      texts.insert(tick.label);
    }
    EXPECT_EQ(texts.size(), ticks.size()) << middle << " +- " << width;
  }
}

using testing::ElementsAre;

TEST(ValueBins, CountAsNumpyDoes) {
  // numpy.histogram([0, 1, 2, 2.5, 3, 4], 4)
  const std::vector<double> values = {0, 1, 2, 2.5, 3, 4};
  const ValueBins bins = bins_of(values, 4);
  EXPECT_THAT(bins.edges, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(bins.counts, ElementsAre(1u, 1u, 2u, 2u));
}

TEST(ValueBins, PutEveryNumberBetweenTheEdgesOfItsBin) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(1e6, 3);
  std::vector<double> values(500);
  for (double& value : values) value = normal(random);
  const ValueBins bins = bins_of(values, 7);
  std::vector<std::uint64_t> counts(7);
  for (const double value : values) {
    const std::size_t bin = bin_of(bins, value);
    ++counts[bin];
    EXPECT_GE(value, bins.edges[bin]);
    EXPECT_LE(value, bins.edges[bin + 1]);
  }
  EXPECT_EQ(bins.counts, counts);
}

TEST(ValueBins, HoldNumbersThatAreAllEqual) {
  for (const double value : {0.0, -3.0, 1e12, 1e300}) {
    const std::vector<double> values(3, value);
    const ValueBins bins = bins_of(values, 5);
    EXPECT_LT(bins.edges.front(), value);
    EXPECT_GT(bins.edges.back(), value);
    EXPECT_EQ(bins.counts[bin_of(bins, value)], 3u) << value;
  }
}

TEST(ValueBins, AreThereWithoutANumber) {
  const ValueBins bins = bins_of({}, 2);
  EXPECT_THAT(bins.edges, ElementsAre(0, 0.5, 1));
  EXPECT_THAT(bins.counts, ElementsAre(0u, 0u));
}

TEST(ValueBins, TakeWhatLiesOutsideIntoTheNearest) {
  const std::vector<double> values = {0, 10};
  const ValueBins bins = bins_of(values, 2);
  EXPECT_EQ(bin_of(bins, -5), 0u);
  EXPECT_EQ(bin_of(bins, 50), 1u);
}

TEST(ValueBins, LeaveOutWhatHasNoPlace) {
  EXPECT_FALSE(is_shown(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(is_shown(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(is_shown(-1e300));
}

}  // namespace

}  // namespace smdebug
