#include "xgboost_report/plot/axis_ticks.h"

#include <cmath>
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

}  // namespace
}  // namespace smdebug
