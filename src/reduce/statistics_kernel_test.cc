#include "smdebug/reduce/statistics_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "reduce/elements.h"
#include "reduce/running_statistics.h"
#include "reduce/special_values_testing.h"

namespace smdebug {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::array kNumericDTypes = {
    DType::float16,       DType::bfloat16,    DType::float32, DType::float64,
    DType::float8_e4m3fn, DType::float8_e5m2, DType::int8,    DType::int16,
    DType::int32,         DType::int64,       DType::uint8,   DType::uint16,
    DType::uint32,        DType::uint64,      DType::boolean, DType::complex64,
    DType::complex128};

// Around the lanes of every target, and around one, two and four blocks.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all;
  for (std::size_t n = 0; n <= 70; ++n) all.push_back(n);
  for (std::size_t block : {1024, 2048, 4096}) {
    for (std::size_t n = block - 2; n <= block + 2; ++n) all.push_back(n);
  }
  all.push_back(5000);
  return all;
}

// What a float dtype looks like in memory.
struct FloatBits {
  DType dtype;
  std::uint64_t one, zero, minus_zero, subnormal, nan, inf, minus_inf;
};

constexpr std::array<FloatBits, 4> kFloatBits = {{
    {DType::float16, 0x3c00, 0, 0x8000, 0x0001, 0x7e01, 0x7c00, 0xfc00},
    {DType::bfloat16, 0x3f80, 0, 0x8000, 0x0001, 0xffc0, 0x7f80, 0xff80},
    {DType::float32, 0x3f800000, 0, 0x80000000, 0x00000001, 0x7f800001,
     0x7f800000, 0xff800000},
    {DType::float64, 0x3ff0000000000000, 0, 0x8000000000000000, 1,
     0x7ff0000000000001, 0x7ff0000000000000, 0xfff0000000000000},
}};

// A tensor of one repeated element, in which single ones can be replaced.
class Elements {
 public:
  Elements(DType dtype, std::size_t count, std::uint64_t bits)
      : dtype_(dtype), bytes_(count * dtype_bytes(dtype)) {
    for (std::size_t i = 0; i < count; ++i) set(i, bits);
  }

  void set(std::size_t i, std::uint64_t bits) {
    // Little endian: the low bytes are the first.
    const std::size_t n = dtype_bytes(dtype_);
    std::memcpy(bytes_.data() + i * n, &bits, n);
  }

  std::size_t count() const { return bytes_.size() / dtype_bytes(dtype_); }

  TensorStatistics statistics() const {
    return statistics_of(dtype_, bytes_.data(), count());
  }

 private:
  DType dtype_;
  Bytes bytes_;
};

template <typename T>
Bytes bytes_of(const std::vector<T>& elements) {
  Bytes bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

// Elements as a tensor of this dtype may hold them. For floats of 16 and 32
// bits that is any bits at all, NaN and infinities among them.
Bytes random_elements(DType dtype, std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal(3, 10);
  if (dtype == DType::float64 || dtype == DType::complex128) {
    std::vector<double> parts(count * dtype_bytes(dtype) / sizeof(double));
    for (double& x : parts) x = normal(random);
    return bytes_of(parts);
  }
  if (dtype == DType::complex64) {
    std::vector<float> parts(count * 2);
    for (float& x : parts) x = static_cast<float>(normal(random));
    return bytes_of(parts);
  }
  Bytes bytes(count * dtype_bytes(dtype));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// Counts and bounds are equal; sums agree to 13 digits of what was summed.
void expect_close(const TensorStatistics& actual,
                  const TensorStatistics& expected) {
  constexpr double kDigits = 1e-13;
  // Deviations below the last digit of the elements themselves do not count.
  constexpr double kLastDigitSquared = 1e-31;
  EXPECT_EQ(actual.count, expected.count);
  EXPECT_EQ(actual.nan, expected.nan);
  EXPECT_EQ(actual.positive_inf, expected.positive_inf);
  EXPECT_EQ(actual.negative_inf, expected.negative_inf);
  EXPECT_EQ(actual.zeros, expected.zeros);
  EXPECT_EQ(actual.min, expected.min);
  EXPECT_EQ(actual.max, expected.max);
  EXPECT_NEAR(actual.sum_abs, expected.sum_abs, kDigits * expected.sum_abs);
  EXPECT_NEAR(actual.sum_squares, expected.sum_squares,
              kDigits * expected.sum_squares);
  EXPECT_NEAR(actual.m2, expected.m2,
              kDigits * expected.m2 + kLastDigitSquared * expected.sum_squares);
  if (expected.finite() == 0) return;
  EXPECT_NEAR(
      actual.mean, expected.mean,
      kDigits * expected.sum_abs / static_cast<double>(expected.finite()));
}

// Every case below runs on every target that this CPU has.
class StatisticsKernel : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { use_statistics_kernel_target(GetParam()); }
  void TearDown() override { use_statistics_kernel_target(0); }
};

INSTANTIATE_TEST_SUITE_P(OnEveryTarget, StatisticsKernel,
                         testing::ValuesIn(statistics_kernel_targets()),
                         [](const auto& target) {
                           use_statistics_kernel_target(target.param);
                           std::string name = statistics_kernel_target();
                           use_statistics_kernel_target(0);
                           return name;
                         });

TEST_P(StatisticsKernel, CountsBoundsAndSumsFourElements) {
  const std::vector<float> x = {-2, 0, 3, 7};
  const TensorStatistics s = statistics_of(DType::float32, x.data(), x.size());
  EXPECT_EQ(s.count, 4U);
  EXPECT_EQ(s.zeros, 1U);
  EXPECT_EQ(s.min, -2);
  EXPECT_EQ(s.max, 7);
  EXPECT_EQ(s.mean, 2);
  EXPECT_EQ(s.m2, 16 + 4 + 1 + 25);
  EXPECT_EQ(s.sum_abs, 12);
  EXPECT_EQ(s.sum_squares, 4 + 9 + 49);
}

TEST_P(StatisticsKernel, AgreesWithItsScalarTwinOnAnyElementsOfAnyDType) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (DType dtype : kNumericDTypes) {
    for (std::size_t count : sizes()) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + ", " +
                   std::to_string(count) + " elements, seed " +
                   std::to_string(seed));
      const Bytes bytes = random_elements(dtype, count, random);
      expect_close(statistics_of(dtype, bytes.data(), count),
                   scalar_statistics(dtype, bytes.data(), count));
      if (HasFailure()) return;
    }
  }
}

TEST_P(StatisticsKernel, AgreesWithItsScalarTwinOnUnalignedElements) {
  std::mt19937_64 random(7);
  for (DType dtype : kNumericDTypes) {
    for (std::size_t count : {3, 33, 1500}) {
      const Bytes bytes = random_elements(dtype, count, random);
      for (std::size_t shift = 1; shift < 64; shift += 6) {
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " at " +
                     std::to_string(shift));
        Bytes shifted(shift);
        shifted.insert(shifted.end(), bytes.begin(), bytes.end());
        expect_close(statistics_of(dtype, shifted.data() + shift, count),
                     scalar_statistics(dtype, bytes.data(), count));
      }
    }
  }
}

TEST_P(StatisticsKernel, FindsANanWhereverItLies) {
  for (const FloatBits& bits : kFloatBits) {
    for (std::size_t count : {1, 15, 67, 1041}) {
      for (std::size_t i = 0; i < count; ++i) {
        Elements elements(bits.dtype, count, bits.one);
        elements.set(i, bits.nan);
        const TensorStatistics s = elements.statistics();
        ASSERT_EQ(s.nan, 1U) << dtype_name(bits.dtype) << " at " << i;
        ASSERT_EQ(s.finite(), count - 1);
        ASSERT_EQ(s.sum_abs, static_cast<double>(count - 1));
        ASSERT_EQ(s.mean, count == 1 ? 0 : 1);
        ASSERT_EQ(s.m2, 0);
      }
    }
  }
}

TEST_P(StatisticsKernel, TellsTheInfinitiesApartWhereverTheyLie) {
  for (const FloatBits& bits : kFloatBits) {
    for (std::size_t count : {3, 67, 1041}) {
      for (std::size_t i = 0; i < count; ++i) {
        Elements elements(bits.dtype, count, bits.one);
        elements.set(i, bits.inf);
        elements.set((i + 1) % count, bits.minus_inf);
        const TensorStatistics s = elements.statistics();
        ASSERT_EQ(s.positive_inf, 1U) << dtype_name(bits.dtype) << " at " << i;
        ASSERT_EQ(s.negative_inf, 1U);
        ASSERT_EQ(s.nan, 0U);
        ASSERT_EQ(s.min, 1);
        ASSERT_EQ(s.max, 1);
        ASSERT_EQ(s.sum_squares, static_cast<double>(count - 2));
      }
    }
  }
}

TEST_P(StatisticsKernel, CountsBothZerosAndNoSubnormalWhereverTheyLie) {
  for (const FloatBits& bits : kFloatBits) {
    for (std::size_t count : {3, 67, 1041}) {
      for (std::size_t i = 0; i < count; ++i) {
        Elements elements(bits.dtype, count, bits.one);
        elements.set(i, bits.zero);
        elements.set((i + 1) % count, bits.minus_zero);
        elements.set((i + 2) % count, bits.subnormal);
        const TensorStatistics s = elements.statistics();
        ASSERT_EQ(s.zeros, 2U) << dtype_name(bits.dtype) << " at " << i;
        ASSERT_EQ(s.min, 0);
        ASSERT_EQ(s.finite(), count);
      }
    }
  }
}

TEST_P(StatisticsKernel, FindsTheExtremesWhereverTheyLie) {
  for (std::size_t count : {2, 67, 1041}) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> x(count, 2.0f);
      x[i] = -5.0f;
      x[(i + 1) % count] = 9.0f;
      const TensorStatistics s =
          statistics_of(DType::float32, x.data(), x.size());
      ASSERT_EQ(s.min, -5) << "at " << i;
      ASSERT_EQ(s.max, 9) << "at " << i;
    }
  }
}

TEST_P(StatisticsKernel, KeepsItsDigitsBesideANan) {
  // A block with a NaN has to find its own centre, the next one too.
  std::vector<double> x(3000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 1e8 + static_cast<double>(i % 10);
  }
  x[0] = x[1700] = std::numeric_limits<double>::quiet_NaN();
  expect_close(statistics_of(DType::float64, x.data(), x.size()),
               scalar_statistics(DType::float64, x.data(), x.size()));
}

TEST_P(StatisticsKernel, HasNoMomentsWhereNothingIsFinite) {
  const std::vector<float> x(1500, std::numeric_limits<float>::infinity());
  const TensorStatistics s = statistics_of(DType::float32, x.data(), x.size());
  EXPECT_EQ(s, (TensorStatistics{.count = 1500, .positive_inf = 1500}));
}

TEST_P(StatisticsKernel, RoundsLargeIntegersToTheNearestDouble) {
  const std::vector<std::uint64_t> top = {
      std::numeric_limits<std::uint64_t>::max(), (std::uint64_t{1} << 53) + 1};
  const TensorStatistics u = statistics_of(DType::uint64, top.data(), 2);
  EXPECT_EQ(u.max, 0x1p64);
  EXPECT_EQ(u.min, 0x1p53);
  const std::vector<std::int64_t> ends = {
      std::numeric_limits<std::int64_t>::min(),
      std::numeric_limits<std::int64_t>::max(), -1, 0};
  const TensorStatistics i = statistics_of(DType::int64, ends.data(), 4);
  EXPECT_EQ(i.min, -0x1p63);
  EXPECT_EQ(i.max, 0x1p63);
  EXPECT_EQ(i.zeros, 1U);
}

TEST_P(StatisticsKernel, ReadsNarrowIntegersByTheirSign) {
  const std::vector<std::uint8_t> bytes = {0x80, 0xff, 0x7f};
  EXPECT_EQ(statistics_of(DType::int8, bytes.data(), 3).min, -128);
  EXPECT_EQ(statistics_of(DType::uint8, bytes.data(), 3).max, 255);
  const std::vector<std::uint16_t> words = {0x8000, 0xffff};
  EXPECT_EQ(statistics_of(DType::int16, words.data(), 2).max, -1);
  EXPECT_EQ(statistics_of(DType::uint16, words.data(), 2).max, 65535);
  const std::vector<std::uint32_t> longs = {0x80000000, 0xffffffff};
  EXPECT_EQ(statistics_of(DType::int32, longs.data(), 2).min, -0x1p31);
  EXPECT_EQ(statistics_of(DType::uint32, longs.data(), 2).max, 4294967295.0);
}

TEST_P(StatisticsKernel, TakesAnyByteButZeroForTrue) {
  const std::vector<std::uint8_t> flags = {0, 1, 2, 255};
  const TensorStatistics s = statistics_of(DType::boolean, flags.data(), 4);
  EXPECT_EQ(s.zeros, 1U);
  EXPECT_EQ(s.max, 1);
  EXPECT_EQ(s.mean, 0.75);
}

TEST_P(StatisticsKernel, TakesComplexElementsByTheirAbsoluteValue) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> parts = {3, -4, 0, 0, nan, 1};
  const TensorStatistics s = statistics_of(DType::complex64, parts.data(), 3);
  EXPECT_EQ(s.count, 3U);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.zeros, 1U);
  EXPECT_EQ(s.max, 5);
  EXPECT_EQ(s.mean, 2.5);
}

TEST_P(StatisticsKernel, KeepsTheMeanWhereSquaresOverflow) {
  const std::vector<double> x = {1e300, 2e300, -3e300, 4e300};
  const TensorStatistics s = statistics_of(DType::float64, x.data(), x.size());
  EXPECT_DOUBLE_EQ(s.mean, 1e300);
  EXPECT_DOUBLE_EQ(s.sum_abs, 1e301);
  EXPECT_EQ(s.m2, kInf);
  EXPECT_EQ(s.sum_squares, kInf);
  EXPECT_FALSE(s.has_non_finite());
}

TEST_P(StatisticsKernel, CountsStringsAndNothingElse) {
  for (DType dtype : {DType::string, DType::bytes}) {
    EXPECT_EQ(statistics_of(dtype, nullptr, 3), (TensorStatistics{.count = 3}));
    EXPECT_EQ(scalar_statistics(dtype, nullptr, 3),
              (TensorStatistics{.count = 3}));
  }
}

TEST_P(StatisticsKernel, CopiesEveryBitAndNotOneMore) {
  constexpr auto kGuard = std::byte{0xa5};
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (CopyStores stores : {CopyStores::normal, CopyStores::streaming}) {
    for (DType dtype : kNumericDTypes) {
      for (std::size_t count : sizes()) {
        SCOPED_TRACE(std::string(dtype_name(dtype)) + ", " +
                     std::to_string(count) + " elements, seed " +
                     std::to_string(seed));
        const std::size_t n = count * dtype_bytes(dtype);
        Bytes bytes(n + 1);
        for (std::byte& b : bytes) b = static_cast<std::byte>(random());
        Bytes buffer(n + 128, kGuard);
        void* to = buffer.data();
        std::size_t space = buffer.size();
        std::align(64, n, to, space);
        const std::byte* from = bytes.data() + 1;  // as unaligned as can be
        const TensorStatistics copied =
            copy_with_statistics(dtype, from, count, to, stores);
        EXPECT_EQ(n == 0 ? 0 : std::memcmp(to, from, n), 0);
        EXPECT_EQ(*(static_cast<std::byte*>(to) + n), kGuard);
        EXPECT_EQ(copied, statistics_of(dtype, from, count));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(StatisticsKernel, CopiesToUnalignedMemoryEvenIfAskedToStream) {
  const std::vector<float> x(100, 1.5f);
  Bytes buffer(x.size() * sizeof(float) + 1);
  copy_with_statistics(DType::float32, x.data(), x.size(), buffer.data() + 1,
                       CopyStores::streaming);
  EXPECT_EQ(std::memcmp(buffer.data() + 1, x.data(), buffer.size() - 1), 0);
}

// ---- Accuracy ------------------------------------------------------------

constexpr std::size_t kMany = 1'000'000;

struct HardSet {
  std::string name;
  std::function<double(std::size_t, std::mt19937_64&)> element;
};

double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

const std::vector<HardSet>& hard_sets() {
  static const std::vector<HardSet> sets = {
      {"normal", [](auto, auto& r) { return normal(r); }},
      {"around 1e4, narrow",
       [](auto, auto& r) { return 1e4 + 1e-2 * normal(r); }},
      {"around 1e6", [](auto, auto& r) { return 1e6 + normal(r); }},
      {"lognormal", [](auto, auto& r) { return std::exp(8 * normal(r)); }},
      {"alternating", [](auto i, auto&) { return i % 2 == 0 ? 1e8 : -1e8; }},
      {"tiny", [](auto, auto& r) { return 1e-30 * normal(r); }},
      {"huge", [](auto, auto& r) { return 1e30 * normal(r); }},
      {"one outlier first",
       [](auto i, auto& r) { return i == 0 ? 1e30 : normal(r); }},
      {"constant", [](auto, auto&) { return 0.1; }},
      {"ramp", [](auto i, auto&) { return static_cast<double>(i); }},
      {"blocks far apart",
       [](auto i, auto& r) {
         return (i / 1024 % 2 == 0 ? 1e7 : -1e7) + normal(r);
       }},
      {"mostly zero",
       [](auto i, auto& r) { return i % 1000 == 999 ? normal(r) : 0; }},
  };
  return sets;
}

// Straight from the definitions, in long double. `element_error` is how much of
// an element was lost before it was counted.
template <typename T>
void expect_accurate(const std::vector<T>& x, const TensorStatistics& s,
                     double element_error = 0) {
  constexpr double kTarget = 1e-11;  // T8 of the performance targets
  long double sum = 0, l1 = 0, squares = 0, m2 = 0;
  for (T v : x) {
    const long double e = v;
    sum += e;
    l1 += std::abs(e);
    squares += e * e;
  }
  const long double mean = sum / static_cast<long double>(x.size());
  for (T v : x) m2 += (v - mean) * (v - mean);
  const auto n = static_cast<double>(x.size());
  EXPECT_NEAR(s.mean, static_cast<double>(mean),
              kTarget * static_cast<double>(l1) / n);
  // The oracle's own mean is rounded: what that is worth does not count.
  const auto deviation = static_cast<double>(std::sqrt(m2 / n));
  const auto rounding = 1e-19 * static_cast<double>(l1) +
                        element_error * static_cast<double>(l1) / n;
  EXPECT_NEAR(std::sqrt(s.m2 / n), deviation, kTarget * deviation + rounding);
  EXPECT_NEAR(s.sum_abs, static_cast<double>(l1),
              kTarget * static_cast<double>(l1));
  const auto l2 = static_cast<double>(std::sqrt(squares));
  EXPECT_NEAR(std::sqrt(s.sum_squares), l2, kTarget * l2);
}

template <typename T>
void expect_accurate_on_hard_sets(DType dtype) {
  for (const HardSet& set : hard_sets()) {
    SCOPED_TRACE(set.name);
    std::mt19937_64 random(1);
    std::vector<T> x(kMany);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<T>(set.element(i, random));
    }
    expect_accurate(x, statistics_of(dtype, x.data(), x.size()));
  }
}

TEST_P(StatisticsKernel, KeepsElevenDigitsOnHardSetsOfFloat32) {
  expect_accurate_on_hard_sets<float>(DType::float32);
}

TEST_P(StatisticsKernel, KeepsElevenDigitsOnHardSetsOfFloat64) {
  expect_accurate_on_hard_sets<double>(DType::float64);
}

// Writes numbers as the nearest element below them of a float dtype that has
// few elements: all of them are tried once.
template <typename Bits>
class NarrowFloats {
 public:
  explicit NarrowFloats(DType dtype) {
    for (std::size_t bits = 0; bits <= std::numeric_limits<Bits>::max();
         ++bits) {
      const auto element = static_cast<Bits>(bits);
      double value = 0;
      elements_to_doubles(dtype, &element, 1, &value);
      if (std::isfinite(value)) all_.emplace(value, element);
    }
  }

  // The element, and what it is worth.
  std::pair<Bits, double> nearest(double x) const {
    auto above = all_.upper_bound(x);
    if (above != all_.begin()) --above;
    return {above->second, above->first};
  }

 private:
  std::map<double, Bits> all_;
};

template <typename Bits>
void expect_accurate_on_hard_sets_of_narrow(DType dtype) {
  const NarrowFloats<Bits> floats(dtype);
  for (const HardSet& set : hard_sets()) {
    SCOPED_TRACE(set.name);
    std::mt19937_64 random(1);
    std::vector<Bits> elements(kMany / 10);
    std::vector<double> values(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i)
      std::tie(elements[i], values[i]) = floats.nearest(set.element(i, random));
    expect_accurate(values,
                    statistics_of(dtype, elements.data(), elements.size()));
  }
}

TEST_P(StatisticsKernel, KeepsElevenDigitsOnHardSetsOfNarrowFloats) {
  expect_accurate_on_hard_sets_of_narrow<std::uint16_t>(DType::float16);
  expect_accurate_on_hard_sets_of_narrow<std::uint16_t>(DType::bfloat16);
  expect_accurate_on_hard_sets_of_narrow<std::uint8_t>(DType::float8_e4m3fn);
  expect_accurate_on_hard_sets_of_narrow<std::uint8_t>(DType::float8_e5m2);
}

template <typename T>
void expect_accurate_on_hard_sets_of_integers(DType dtype) {
  for (const HardSet& set : hard_sets()) {
    SCOPED_TRACE(set.name);
    std::mt19937_64 random(1);
    std::vector<T> x(kMany / 10);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double within = std::clamp(
          set.element(i, random),
          static_cast<double>(std::numeric_limits<T>::min()),
          0.999 * static_cast<double>(std::numeric_limits<T>::max()));
      x[i] = static_cast<T>(within);
    }
    expect_accurate(x, statistics_of(dtype, x.data(), x.size()));
  }
}

TEST_P(StatisticsKernel, KeepsElevenDigitsOnHardSetsOfIntegers) {
  expect_accurate_on_hard_sets_of_integers<std::int8_t>(DType::int8);
  expect_accurate_on_hard_sets_of_integers<std::uint16_t>(DType::uint16);
  expect_accurate_on_hard_sets_of_integers<std::int32_t>(DType::int32);
  expect_accurate_on_hard_sets_of_integers<std::int64_t>(DType::int64);
  expect_accurate_on_hard_sets_of_integers<std::uint64_t>(DType::uint64);
}

template <typename T>
void expect_accurate_on_hard_sets_of_complex(DType dtype) {
  for (const HardSet& set : hard_sets()) {
    SCOPED_TRACE(set.name);
    std::mt19937_64 random(1);
    std::vector<T> parts(kMany / 5);
    std::vector<long double> sizes(parts.size() / 2);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const T real = parts[2 * i] = static_cast<T>(set.element(i, random));
      const T imaginary = parts[2 * i + 1] =
          static_cast<T>(set.element(i, random));
      sizes[i] = std::hypot(static_cast<long double>(real),
                            static_cast<long double>(imaginary));
    }
    // Absolute values are rounded to fp64 before they are summed: where they
    // hardly differ, that is worth more than what summing loses.
    expect_accurate(sizes, statistics_of(dtype, parts.data(), sizes.size()),
                    0x1p-53);
  }
}

TEST_P(StatisticsKernel, KeepsElevenDigitsOnHardSetsOfComplexNumbers) {
  expect_accurate_on_hard_sets_of_complex<float>(DType::complex64);
  expect_accurate_on_hard_sets_of_complex<double>(DType::complex128);
}

}  // namespace
}  // namespace smdebug
