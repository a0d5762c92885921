#include "rules/measures/element_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;

struct Elements : ValueSource {
  explicit Elements(Result<TensorView> given) : held(std::move(given)) {}
  Result<TensorView> load() override { return held; }
  Result<TensorView> held;
};

TEST(ElementValues, ReadsStridedIntegersInCOrder) {
  const std::vector<std::int16_t> memory = {0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> shape = {3, 2}, strides = {1, 3};
  TensorView view;
  view.dtype = DType::int16;
  view.data = reinterpret_cast<const std::byte*>(memory.data());
  view.shape = shape;
  view.strides = strides;
  Elements source(view);
  Observation observation;
  observation.values = &source;
  const auto read = *element_values(observation);
  ASSERT_TRUE(read.has_value());
  EXPECT_THAT(read->values, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(read->shape, ElementsAre(3, 2));
}

TEST(ElementValues, ReadsTensorsOfManyBlocks) {
  std::vector<float> memory(5000);
  std::iota(memory.begin(), memory.end(), 0.0f);
  const std::vector<std::int64_t> shape = {5000};
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(memory.data());
  view.shape = shape;
  Elements source(view);
  Observation observation;
  observation.values = &source;
  const auto read = *element_values(observation);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->values, std::vector<double>(memory.begin(), memory.end()));
}

TEST(ElementValues, AreNoneWhereTheRunHasNoneAndFailWhereTheDiskDoes) {
  Elements missing(Error{Error::Code::not_found, "not kept"});
  Observation observation;
  observation.values = &missing;
  EXPECT_FALSE(element_values(observation)->has_value());
  Elements failing(Error{Error::Code::io, "the disk said no"});
  observation.values = &failing;
  EXPECT_FALSE(element_values(observation).ok());
}

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
