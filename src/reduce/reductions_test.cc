#include "smdebug/reduce/reductions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "smdebug/reduce/statistics_kernel.h"

#include "reduce/elements.h"
#include "reduce/special_values_testing.h"

namespace smdebug {
namespace {

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
  for (DType dtype : {DType::string, DType::bytes}) {
    const TensorView view{
        .dtype = dtype, .data = nullptr, .shape = shape, .strides = {}};
    const TensorStatistics statistics = statistics_of_view(view);
    EXPECT_EQ(statistics.count, 2U);
    for (Reduction reduction : {Reduction::median, Reduction::mean}) {
      EXPECT_EQ(reduce_tensor(view, statistics, {.reduction = reduction},
                              Deviation::population),
                std::nullopt);
    }
  }
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

// ---- Against plain loops --------------------------------------------------

// One reduction straight from its definition, in long double. `x` are finite.
long double by_loop(std::vector<double> x, ReductionOp op,
                    Deviation deviation) {
  if (op.abs)
    for (double& element : x) element = std::abs(element);
  const auto n = static_cast<long double>(x.size());
  long double sum = 0, prod = 1, l1 = 0, squares = 0, m2 = 0;
  for (double element : x) {
    sum += element;
    prod *= element;
    l1 += std::abs(element);
    squares += static_cast<long double>(element) * element;
  }
  for (double element : x) m2 += (element - sum / n) * (element - sum / n);
  const long double variance =
      m2 / (deviation == Deviation::sample ? n - 1 : n);
  std::ranges::sort(x);
  switch (op.reduction) {
    case Reduction::min:
      return x.front();
    case Reduction::max:
      return x.back();
    case Reduction::mean:
      return sum / n;
    case Reduction::median:
      return (x[(x.size() - 1) / 2] +
              static_cast<long double>(x[x.size() / 2])) /
             2;
    case Reduction::std:
      return std::sqrt(variance);
    case Reduction::variance:
      return variance;
    case Reduction::sum:
      return sum;
    case Reduction::prod:
      return prod;
    case Reduction::l1:
      return l1;
    case Reduction::l2:
      return std::sqrt(squares);
  }
  return 0;
}

// A strided tensor of moderate elements, and what they are worth in C order.
struct RandomTensor {
  RandomTensor(DType dtype, std::mt19937_64& random) : dtype(dtype) {
    std::int64_t stride = static_cast<std::int64_t>(random() % 3);
    for (std::size_t i = random() % 4; i > 0; --i) {
      shape.push_back(1 + static_cast<std::int64_t>(random() % 6));
      strides.push_back(random() % 2 == 0 ? stride : -stride);
      stride = stride * shape.back() + static_cast<std::int64_t>(random() % 2);
    }
    fill(random);
    visit(0, first);
  }

  TensorView view() const {
    return {dtype, memory.data() + first * dtype_bytes(dtype), shape, strides};
  }

  DType dtype;
  std::vector<std::int64_t> shape, strides;
  std::vector<std::byte> memory;
  std::size_t first = 0;       // the first element's place
  std::vector<double> values;  // in C order

 private:
  void fill(std::mt19937_64& random) {
    std::int64_t before = 0, behind = 0;
    for (std::size_t i = 0; i < shape.size(); ++i)
      (strides[i] < 0 ? before : behind) += (shape[i] - 1) * strides[i];
    first = static_cast<std::size_t>(-before);
    const auto count = first + static_cast<std::size_t>(behind) + 1;
    const std::size_t bytes = dtype_bytes(dtype);
    memory.resize(count * bytes);
    std::normal_distribution<double> normal(1, 3);
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* element = memory.data() + i * bytes;
      double value = 0;
      do {
        put(element, normal(random), random);
        elements_to_doubles(dtype, element, 1, &value);
      } while (!std::isfinite(value) || std::abs(value) > 1e25);
    }
  }

  // A normal number for wide floats, any bits for everything else.
  void put(std::byte* element, double x, std::mt19937_64& random) const {
    const std::array<double, 2> doubles = {x, x / 2};
    const std::array<float, 2> floats = {static_cast<float>(x),
                                         static_cast<float>(x / 2)};
    const std::uint64_t bits = random();
    const void* from = &bits;
    if (dtype == DType::float64 || dtype == DType::complex128) from = &doubles;
    if (dtype == DType::float32 || dtype == DType::complex64) from = &floats;
    std::memcpy(element, from, dtype_bytes(dtype));
  }

  void visit(std::size_t dimension, std::size_t place) {
    if (dimension == shape.size()) {
      elements_to_doubles(dtype, memory.data() + place * dtype_bytes(dtype), 1,
                          &values.emplace_back());
      return;
    }
    for (std::int64_t i = 0; i < shape[dimension]; ++i) {
      visit(dimension + 1,
            place + static_cast<std::size_t>(i * strides[dimension]));
    }
  }
};

TEST(Reductions, AreThoseOfALoopInLongDoubleForEveryDTypeAndAnyStrides) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (std::size_t round = 0; round < 60 * kDTypeCount; ++round) {
    const auto dtype = static_cast<DType>(round % kDTypeCount);
    if (is_string(dtype)) continue;
    const RandomTensor tensor(dtype, random);
    const TensorStatistics statistics = statistics_of_view(tensor.view());
    double largest = 0;
    for (double x : tensor.values) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < 2 * kReductionCount; ++i) {
      const ReductionOp op{static_cast<Reduction>(i / 2), i % 2 == 1};
      for (Deviation deviation : {Deviation::population, Deviation::sample}) {
        const auto expected =
            static_cast<double>(by_loop(tensor.values, op, deviation));
        const auto found =
            reduce_tensor(tensor.view(), statistics, op, deviation);
        ASSERT_TRUE(found.has_value());
        SCOPED_TRACE(testing::Message()
                     << reduction_op_name(op) << " of " << dtype_name(dtype)
                     << ", " << tensor.values.size() << " elements, seed "
                     << seed);
        if (!std::isfinite(expected)) {
          ASSERT_EQ(std::isnan(*found), std::isnan(expected));
          if (std::isinf(expected)) {
            ASSERT_EQ(*found, expected);
          }
          continue;
        }
        // Sums that cancel are as exact as what was summed.
        const double of_sum = op.reduction == Reduction::prod
                                  ? std::numeric_limits<double>::denorm_min()
                                  : 1e-15 * largest * std::max(1.0, largest);
        ASSERT_NEAR(*found, expected, 1e-13 * std::abs(expected) + of_sum);
      }
    }
  }
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

TEST(Reductions, ReducesAnExpandedTensorLikeACopyOfIt) {
  const std::vector<double> row = {1.5, -2, 0, 0.25, -0.5};
  for (const std::int64_t times : {1, 2, 3, 1000}) {
    const std::vector<std::int64_t> shape = {times, 5};
    const std::vector<std::int64_t> strides = {0, 1};
    const TensorView view{
        .dtype = DType::float64,
        .data = reinterpret_cast<const std::byte*>(row.data()),
        .shape = shape,
        .strides = strides};
    std::vector<double> copy;
    for (std::int64_t i = 0; i < times; ++i)
      copy.insert(copy.end(), row.begin(), row.end());
    for (int i = 0; i < static_cast<int>(kReductionCount); ++i) {
      for (const bool abs : {false, true}) {
        const ReductionOp op{.reduction = static_cast<Reduction>(i),
                             .abs = abs};
        const auto found = reduce_tensor(view, statistics_of_view(view), op,
                                         Deviation::sample);
        const auto expected = reduce(copy, op, Deviation::sample);
        EXPECT_NEAR(*found, *expected, 1e-12 * std::abs(*expected))
            << reduction_op_name(op) << " of " << times;
      }
    }
  }
}

TEST(Reductions, MultipliesAnExpandedTensorBeyondTheRangeOfDoubleAndBack) {
  const std::vector<double> row = {0x1p900, -0x1p-900, 2};
  const std::vector<std::int64_t> shape = {3, 99};
  const std::vector<std::int64_t> strides = {1, 0};
  const TensorView view{.dtype = DType::float64,
                        .data = reinterpret_cast<const std::byte*>(row.data()),
                        .shape = shape,
                        .strides = strides};
  EXPECT_EQ(reduce_tensor(view, statistics_of_view(view), kProd,
                          Deviation::population),
            -0x1p99);
}

}  // namespace
}  // namespace smdebug
