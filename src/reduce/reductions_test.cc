#include "reduce/reductions.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "smdebug/reduce/statistics_kernel.h"

namespace smdebug {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr ReductionOp kMedian{.reduction = Reduction::median};
constexpr ReductionOp kProd{.reduction = Reduction::prod};

std::optional<double> reduce(const std::vector<double>& elements,
                             ReductionOp op,
                             Deviation deviation = Deviation::population) {
  const std::vector<std::int64_t> shape = {
      static_cast<std::int64_t>(elements.size())};
  const TensorView view{
      .dtype = DType::float64,
      .data = reinterpret_cast<const std::byte*>(elements.data()),
      .shape = shape,
      .strides = {}};
  return reduce_tensor(view, statistics_of_view(view), op, deviation);
}

ReductionOp absolute(Reduction reduction) {
  return {.reduction = reduction, .abs = true};
}

TEST(Reductions, TakesTheMiddleElementAsMedian) {
  EXPECT_EQ(reduce({5, -1, 3}, kMedian), 3);
  EXPECT_EQ(reduce({5, -7, 3}, absolute(Reduction::median)), 5);
}

TEST(Reductions, TakesTheMeanOfTheMiddleTwoAsMedianOfAnEvenCount) {
  EXPECT_EQ(reduce({4, 1, 3, 100}, kMedian), 3.5);
  EXPECT_EQ(reduce({kInf, 1, kInf, 2}, kMedian), kInf);
}

TEST(Reductions, MultipliesBeyondTheRangeOfDoubleAndBack) {
  EXPECT_EQ(reduce({0x1p900, 0x1p900, 0x1p-900, 0x1p-901}, kProd), 0.5);
  EXPECT_EQ(reduce(std::vector<double>(1000, 2), kProd), 0x1p1000);
  EXPECT_EQ(reduce(std::vector<double>(5000, 2), kProd), kInf);
  EXPECT_EQ(reduce(std::vector<double>(5000, 0.5), kProd), 0);
}

TEST(Reductions, MultipliesSignsZerosAndInfinitiesAsNumpyDoes) {
  EXPECT_EQ(reduce({-2, 3}, kProd), -6);
  EXPECT_EQ(reduce({-2, 3}, absolute(Reduction::prod)), 6);
  EXPECT_EQ(reduce({-2, 0}, kProd), 0);
  EXPECT_EQ(reduce({-2, kInf}, kProd), -kInf);
  EXPECT_TRUE(std::isnan(*reduce({0, kInf}, kProd)));
}

TEST(Reductions, ReducesAbsoluteValues) {
  const std::vector<double> x = {-3, 1, -5, 7};
  EXPECT_EQ(reduce(x, absolute(Reduction::min)), 1);
  // |x| is 3, 1, 5, 7: mean 4, squared deviations 1 + 9 + 1 + 9.
  EXPECT_DOUBLE_EQ(*reduce(x, absolute(Reduction::variance)), 5);
  EXPECT_DOUBLE_EQ(*reduce(x, absolute(Reduction::std)), std::sqrt(5));
  EXPECT_DOUBLE_EQ(*reduce(x, absolute(Reduction::variance), Deviation::sample),
                   20.0 / 3);
  EXPECT_EQ(reduce(x, absolute(Reduction::max)), 7);
  EXPECT_EQ(reduce(x, absolute(Reduction::mean)), 4);
}

TEST(Reductions, LetsANanThroughWhateverIsAsked) {
  for (int i = 0; i < static_cast<int>(kReductionCount); ++i) {
    for (bool abs : {false, true}) {
      const ReductionOp op{.reduction = static_cast<Reduction>(i), .abs = abs};
      const std::optional<double> value = reduce({1, kNan, 2}, op);
      ASSERT_TRUE(value.has_value()) << reduction_op_name(op);
      EXPECT_TRUE(std::isnan(*value)) << reduction_op_name(op);
    }
  }
}

TEST(Reductions, HasNoDeviationBesideAnInfinity) {
  EXPECT_EQ(reduce({1, -kInf}, absolute(Reduction::min)), 1);
  EXPECT_TRUE(std::isnan(*reduce({1, kInf}, absolute(Reduction::std))));
}

TEST(Reductions, GivesNothingForATensorWithoutElements) {
  EXPECT_EQ(reduce({}, kMedian), std::nullopt);
  EXPECT_EQ(reduce({}, kProd), std::nullopt);
  EXPECT_EQ(reduce({}, {.reduction = Reduction::mean}), std::nullopt);
}

TEST(Reductions, GivesNothingForStrings) {
  const std::vector<std::int64_t> shape = {2};
  const TensorView view{
      .dtype = DType::string, .data = nullptr, .shape = shape, .strides = {}};
  const TensorStatistics statistics = statistics_of_view(view);
  EXPECT_EQ(statistics.count, 2U);
  EXPECT_EQ(reduce_tensor(view, statistics, kMedian, Deviation::population),
            std::nullopt);
}

TEST(Reductions, ReducesAStridedTensorOfIntegers) {
  // Every other column of 100 x 100 x 2, transposed: 0, 2, 4, ..
  std::vector<std::int16_t> x(20'000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int16_t>(i);
  }
  const std::vector<std::int64_t> shape = {100, 100};
  const std::vector<std::int64_t> strides = {2, 200};
  const TensorView view{.dtype = DType::int16,
                        .data = reinterpret_cast<const std::byte*>(x.data()),
                        .shape = shape,
                        .strides = strides};
  const TensorStatistics s = statistics_of_view(view);
  EXPECT_EQ(s.count, 10'000U);
  EXPECT_EQ(s.zeros, 1U);
  EXPECT_EQ(s.max, 19'998);
  EXPECT_DOUBLE_EQ(s.mean, 9'999);
  // The variance of 0 .. n-1 is (n^2 - 1) / 12; doubled elements have 4 times.
  EXPECT_NEAR(s.m2, 1e4 * 4 * (1e8 - 1) / 12, 1);
  EXPECT_EQ(reduce_tensor(view, s, kMedian, Deviation::population), 9'999);
}

TEST(Reductions, NeedsElementsForExactlyWhatStatisticsDoNotHold) {
  const std::vector<double> x = {1, 2};
  const TensorStatistics s = statistics_of(DType::float64, x.data(), 2);
  for (int i = 0; i < static_cast<int>(kReductionCount); ++i) {
    for (bool abs : {false, true}) {
      const ReductionOp op{.reduction = static_cast<Reduction>(i), .abs = abs};
      EXPECT_EQ(needs_elements(op),
                !reduction_from(s, op, Deviation::population).has_value())
          << reduction_op_name(op);
    }
  }
}

}  // namespace
}  // namespace smdebug
