#include "rules/measures/tolerance.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "smdebug/reduce/statistics_kernel.h"

namespace smdebug {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TensorView view_of(const std::vector<double>& values,
                   const std::vector<std::int64_t>& shape) {
  TensorView view;
  view.dtype = DType::float64;
  view.data = reinterpret_cast<const std::byte*>(values.data());
  view.shape = shape;
  return view;
}

KeptTensor kept(const std::vector<double>& values) {
  return KeptTensor::copy_of(view_of(values, {std::int64_t(values.size())}));
}

bool close(double a, double b, const Tolerance& tolerance) {
  return max_deviation(kept({a}), kept({b}), tolerance).is_close();
}

// numpy.isclose(a, b, rtol, atol, equal_nan).
TEST(Closeness, IsThatOfNumpy) {
  const Tolerance standard;
  EXPECT_TRUE(close(1e10, 1.00001e10 - 1, standard));
  EXPECT_TRUE(close(1e-8, 2e-8, standard));
  EXPECT_FALSE(close(1e-8, 3e-8, standard));
  EXPECT_TRUE(close(10, 10.0001000005, {1e-5, 0}));  // b is the reference
  EXPECT_FALSE(close(10.0001000005, 10, {1e-5, 0}));
  EXPECT_TRUE(close(kInf, kInf, standard));
  EXPECT_FALSE(close(kInf, -kInf, standard));
  EXPECT_FALSE(close(kInf, 1, standard));
  EXPECT_FALSE(close(1, kInf, standard));
  EXPECT_FALSE(close(kNan, kNan, standard));
  EXPECT_TRUE(close(kNan, kNan, {1e-5, 1e-8, true}));
  EXPECT_FALSE(close(kNan, 1, {1e-5, 1e-8, true}));
}

TEST(Closeness, OfATensorIsThatOfItsWorstElement) {
  const MaxDeviation deviation =
      max_deviation(kept({1, 2, 3}), kept({1, 2.5, 3.25}), {0, 0.3});
  EXPECT_FALSE(deviation.is_close());
  EXPECT_EQ(deviation.value, 0.5);
  EXPECT_EQ(deviation.allowed, 0.3);
  EXPECT_TRUE(max_deviation(kept({}), kept({}), {0, 0}).is_close());
}

// Statistics never say of close tensors that they are not. Seeds 0 to 299.
TEST(Closeness, OfStatisticsFollowsFromThatOfTheElements) {
  int shown = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> a(1 + random() % 300), b(a.size());
    const double scale = std::pow(10.0, -double(random() % 12));
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = 3 + normal(random);
      b[i] = a[i] + scale * normal(random);
    }
    const Tolerance tolerance = {1e-5, 1e-8};
    const std::vector<std::int64_t> shape = {std::int64_t(a.size())};
    const bool elements = max_deviation(kept(a), kept(b), tolerance).is_close();
    const bool statistics =
        max_deviation(statistics_of(DType::float64, a.data(), a.size()),
                      statistics_of(DType::float64, b.data(), b.size()),
                      tolerance)
            .is_close();
    EXPECT_TRUE(!elements || statistics) << "seed " << seed;
    shown += !statistics;
  }
  EXPECT_GT(shown, 50);
}

TEST(KeptTensor, IsACopyInCOrder) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> shape = {3, 2}, strides = {1, 3};
  TensorView transposed = view_of(values, shape);
  transposed.strides = strides;
  const KeptTensor copy = KeptTensor::copy_of(transposed);
  std::vector<double> read(6);
  copy.read(0, 6, read.data());
  EXPECT_EQ(read, (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(copy.shape(), shape);
}

TEST(KeptTensor, SeesAChangeOfPhase) {
  const std::vector<double> real = {1, 0}, imaginary = {0, 1};
  TensorView view = view_of(real, {});
  view.dtype = DType::complex128;
  const KeptTensor before = KeptTensor::copy_of(view);
  view.data = reinterpret_cast<const std::byte*>(imaginary.data());
  const KeptTensor after = KeptTensor::copy_of(view);
  EXPECT_FALSE(max_deviation(after, before, {}).is_close());
  EXPECT_DOUBLE_EQ(norm_of_difference(after, before), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(norm_of(after), 1);
}

}  // namespace
}  // namespace smdebug
