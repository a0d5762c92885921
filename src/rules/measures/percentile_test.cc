#include "rules/measures/percentile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

std::optional<double> range(const std::vector<double>& values, double low,
                            double high) {
  const std::vector<std::int64_t> shape = {std::int64_t(values.size())};
  TensorView view;
  view.dtype = DType::float64;
  view.data = reinterpret_cast<const std::byte*>(values.data());
  view.shape = shape;
  return percentile_range(view, low, high);
}

// numpy.percentile([4, 1, 3, 2], [5, 95]) is [1.15, 3.85].
TEST(PercentileRange, InterpolatesAsNumpyDoes) {
  EXPECT_NEAR(*range({4, 1, 3, 2}, 5, 95), 2.7, 1e-12);
  EXPECT_EQ(range({4, 1, 3, 2}, 0, 100), 3);
  EXPECT_EQ(range({7}, 5, 95), 0);
}

TEST(PercentileRange, IsNoneOfNothingAndOfNan) {
  EXPECT_EQ(range({}, 5, 95), std::nullopt);
  EXPECT_EQ(range({1, std::numeric_limits<double>::quiet_NaN()}, 5, 95),
            std::nullopt);
}

// Against sorting; more elements than one block. Seeds 0 to 99.
TEST(PercentileRange, IsThatOfTheSortedElements) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<double> values(1 + random() % 3000);
    for (double& value : values) value = double(random() % 1000);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto at = [&](double percent) {
      const double place = double(sorted.size() - 1) * percent / 100;
      const auto below = std::size_t(std::floor(place));
      const auto above = std::size_t(std::ceil(place));
      return sorted[below] +
             (place - double(below)) * (sorted[above] - sorted[below]);
    };
    EXPECT_NEAR(*range(values, 5, 95), at(95) - at(5), 1e-9) << seed;
  }
}

}  // namespace
}  // namespace smdebug
