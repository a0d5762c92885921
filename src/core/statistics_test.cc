#include "smdebug/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

TensorStatistics statistics_of(std::span<const double> values) {
  TensorStatistics s;
  Values finite;
  for (double x : values) {
    ++s.count;
    s.nan += std::isnan(x);
    s.positive_inf += x == kInf;
    s.negative_inf += x == -kInf;
    s.zeros += x == 0;
    if (std::isfinite(x)) finite.push_back(x);
  }
  if (finite.empty()) return s;
  s.min = *std::min_element(finite.begin(), finite.end());
  s.max = *std::max_element(finite.begin(), finite.end());
  for (double x : finite) {
    s.mean += x / static_cast<double>(finite.size());
    s.sum_abs += std::abs(x);
    s.sum_squares += x * x;
  }
  for (double x : finite) s.m2 += (x - s.mean) * (x - s.mean);
  return s;
}

// The definition, over the elements themselves; arithmetic on NaN and
// infinities gives what numpy gives.
double naive(Values values, ReductionOp op, Deviation deviation) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0, least = kInf, most = -kInf;
  for (double& x : values) {
    if (op.abs) x = std::abs(x);
    if (std::isnan(x)) return kNan;
    sum += op.reduction == Reduction::l1 ? std::abs(x) : x;
    squares += x * x;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  double distances = 0;
  for (double x : values) distances += (x - sum / n) * (x - sum / n);
  const double variance =
      distances / (deviation == Deviation::sample ? n - 1 : n);
  switch (op.reduction) {
    case Reduction::min:
      return least;
    case Reduction::max:
      return most;
    case Reduction::mean:
      return sum / n;
    case Reduction::variance:
      return variance;
    case Reduction::std:
      return std::sqrt(variance);
    case Reduction::l2:
      return std::sqrt(squares);
    default:
      return sum;
  }
}

bool is_held(ReductionOp op) {
  if (op.reduction == Reduction::median || op.reduction == Reduction::prod) {
    return false;
  }
  return !op.abs ||
         (op.reduction != Reduction::min && op.reduction != Reduction::std &&
          op.reduction != Reduction::variance);
}

void expect_same(double actual, double expected) {
  if (!std::isfinite(expected)) {
    EXPECT_THAT(actual, testing::NanSensitiveDoubleEq(expected));
  } else {
    EXPECT_NEAR(actual, expected, 1e-9 * (1 + std::abs(expected)));
  }
}

void expect_as_naive(const Values& values) {
  SCOPED_TRACE(testing::PrintToString(values));
  const TensorStatistics statistics = statistics_of(values);
  for (std::size_t i = 0; i < kReductionCount; ++i) {
    for (const bool abs : {false, true}) {
      const ReductionOp op{static_cast<Reduction>(i), abs};
      for (const auto deviation : {Deviation::population, Deviation::sample}) {
        SCOPED_TRACE(reduction_op_name(op));
        const auto actual = reduction_from(statistics, op, deviation);
        ASSERT_EQ(actual.has_value(), is_held(op));
        if (actual) expect_same(*actual, naive(values, op, deviation));
      }
    }
  }
}

TEST(ReductionFrom, AgreesWithTheDefinition) {
  expect_as_naive({1, 2, 4});
  expect_as_naive({-3});
  expect_as_naive({0, 0});
}

TEST(ReductionFrom, PropagatesNanAndInfinitiesAsNumpyDoes) {
  for (const Values& values :
       {Values{1, kNan}, Values{kNan}, Values{1, kInf}, Values{1, -kInf},
        Values{kInf}, Values{-kInf}, Values{kInf, kInf}, Values{kInf, -kInf},
        Values{-5, kInf, -kInf, 2}, Values{kInf, kNan}}) {
    expect_as_naive(values);
  }
}

// numpy.array([1, -2, 4.5]): .std(), .std(ddof=1), numpy.linalg.norm.
TEST(ReductionFrom, GivesNumpysNumbers) {
  const TensorStatistics s = statistics_of(Values{1, -2, 4.5});
  const auto value = [&](const char* name, Deviation deviation) {
    return *reduction_from(s, *find_reduction_op(name), deviation);
  };
  const auto population = Deviation::population;
  EXPECT_DOUBLE_EQ(value("std", population), 2.6562295750848715);
  EXPECT_DOUBLE_EQ(value("std", Deviation::sample), 3.253203549323856);
  EXPECT_DOUBLE_EQ(value("l2", population), 5.024937810560445);
  EXPECT_DOUBLE_EQ(value("l1", population), 7.5);
  EXPECT_DOUBLE_EQ(value("abs_mean", population), 2.5);
  EXPECT_DOUBLE_EQ(value("sum", population), 3.5);
}

TEST(ReductionFrom, GivesNoSampleDeviationOfOneElement) {
  const TensorStatistics s = statistics_of(Values{7});
  EXPECT_TRUE(
      std::isnan(*reduction_from(s, {Reduction::std}, Deviation::sample)));
  EXPECT_EQ(reduction_from(s, {Reduction::std}, Deviation::population), 0);
}

TEST(ReductionFrom, IsNoneWithoutElements) {
  EXPECT_EQ(reduction_from({}, {Reduction::sum}, Deviation::population),
            std::nullopt);
}

TEST(TensorStatistics, MergesPartsToTheWhole) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(3, 10);
  for (int round = 0; round < 500; ++round) {
    Values values(random() % 20);
    for (double& x : values) {
      const auto kind = random() % 12;
      x = kind == 0   ? kNan
          : kind == 1 ? kInf
          : kind == 2 ? -kInf
          : kind == 3 ? 0
                      : normal(random);
    }
    if (!values.empty()) expect_as_naive(values);
    TensorStatistics merged;
    for (std::size_t at = 0; at < values.size();) {
      const std::size_t n =
          std::min<std::size_t>(random() % 6, values.size() - at);
      merged.merge(statistics_of(std::span(values).subspan(at, n)));
      at += n;
    }
    const TensorStatistics whole = statistics_of(values);
    EXPECT_EQ(merged.count, whole.count);
    EXPECT_EQ(merged.nan, whole.nan);
    EXPECT_EQ(merged.positive_inf, whole.positive_inf);
    EXPECT_EQ(merged.negative_inf, whole.negative_inf);
    EXPECT_EQ(merged.zeros, whole.zeros);
    EXPECT_EQ(merged.min, whole.min);
    EXPECT_EQ(merged.max, whole.max);
    expect_same(merged.mean, whole.mean);
    expect_same(merged.m2, whole.m2);
    expect_same(merged.sum_abs, whole.sum_abs);
    expect_same(merged.sum_squares, whole.sum_squares);
  }
}

}  // namespace
}  // namespace smdebug
