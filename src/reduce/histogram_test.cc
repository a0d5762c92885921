#include "reduce/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/reduce/statistics_kernel.h"

#include "reduce/elements.h"
#include "reduce/special_values_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// The edges again, as the format's page words them.
std::vector<double> edges_as_defined() {
  std::vector<double> edges = {0};
  for (double edge = 1e-12; edge < 1e20; edge *= 1.1) {
    edges.push_back(edge);
    edges.push_back(-edge);
  }
  std::ranges::sort(edges);
  return edges;
}

// The bin of `x`, by binary search; kBins where it is in none.
std::size_t bin_as_defined(double x) {
  static const std::vector<double> edges = edges_as_defined();
  if (!(x >= edges.front() && x <= edges.back()))
    return HistogramCounter::kBins;
  if (x == edges.back()) return HistogramCounter::kBins - 1;
  return static_cast<std::size_t>(std::ranges::upper_bound(edges, x) -
                                  edges.begin()) -
         1;
}

std::vector<std::uint64_t> bins_as_defined(const std::vector<double>& values) {
  std::vector<std::uint64_t> bins(HistogramCounter::kBins);
  for (const double x : values)
    if (const std::size_t bin = bin_as_defined(x); bin < bins.size())
      ++bins[bin];
  return bins;
}

// A histogram's buckets put back to where they are among all bins.
std::vector<std::uint64_t> all_bins(const std::optional<Histogram>& histogram) {
  std::vector<std::uint64_t> bins(HistogramCounter::kBins);
  if (!histogram) return bins;
  const auto first = histogram->limits.data() - histogram_edges().data();
  for (std::size_t i = 1; i < histogram->buckets.size(); ++i)
    bins[static_cast<std::size_t>(first) + i - 1] =
        static_cast<std::uint64_t>(histogram->buckets[i]);
  return bins;
}

template <typename T>
std::optional<Histogram> histogram_of(DType dtype,
                                      const std::vector<T>& elements) {
  HistogramCounter counter;
  counter.add(dtype, elements.data(), elements.size());
  return counter.histogram(
      statistics_of(dtype, elements.data(), elements.size()));
}

std::optional<Histogram> histogram_of(const std::vector<double>& values) {
  return histogram_of(DType::float64, values);
}

template <typename T>
std::vector<double> as_doubles(DType dtype, const std::vector<T>& elements) {
  std::vector<double> values(elements.size());
  elements_to_doubles(dtype, elements.data(), elements.size(), values.data());
  return values;
}

TEST(Histogram, HasTheEdgesOfTheOriginal) {
  EXPECT_THAT(histogram_edges(), ElementsAreArray(edges_as_defined()));
  EXPECT_EQ(histogram_edges().size(), 1549u);
  EXPECT_EQ(histogram_edges().back(), 9.920775621859783e19);
}

// The example of the original's own description.
TEST(Histogram, OfOneElementHasOneBinAndAnEmptyOneBeforeIt) {
  const auto histogram = histogram_of({1.0});
  ASSERT_TRUE(histogram);
  EXPECT_THAT(histogram->limits,
              ElementsAre(0.917246389039776, 1.0089710279437536));
  EXPECT_THAT(histogram->buckets, ElementsAre(0, 1));
  EXPECT_EQ(histogram->min, 1);
  EXPECT_EQ(histogram->max, 1);
  EXPECT_EQ(histogram->sum, 1);
  EXPECT_EQ(histogram->sum_squares, 1);
  EXPECT_EQ(histogram->count, 1u);
}

TEST(Histogram, KeepsEmptyBinsBetweenFullOnes) {
  const auto histogram = histogram_of({0, 2.2e-12});
  ASSERT_TRUE(histogram);
  EXPECT_EQ(histogram->limits.front(), 0);
  // 1.1^8 < 2.2 < 1.1^9.
  EXPECT_THAT(histogram->buckets, ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1));
}

TEST(Histogram, PutsEveryEdgeAndItsNeighboursWhereABinarySearchPutsThem) {
  for (const double edge : histogram_edges()) {
    for (const double x :
         {edge, std::nextafter(edge, -kInf), std::nextafter(edge, kInf)}) {
      EXPECT_EQ(all_bins(histogram_of({x})), bins_as_defined({x})) << x;
    }
    const auto nearest = static_cast<float>(edge);
    constexpr float kBeyond = std::numeric_limits<float>::infinity();
    for (const float x : {nearest, std::nextafter(nearest, -kBeyond),
                          std::nextafter(nearest, kBeyond)}) {
      EXPECT_EQ(all_bins(histogram_of(DType::float32, std::vector{x})),
                bins_as_defined({x}))
          << x;
    }
  }
}

TEST(Histogram, CountsNeitherNanNorInfinityNorWhatLiesBeyondTheEdges) {
  const auto histogram =
      histogram_of({kNan, -kNan, kInf, -kInf, 1e20, -1e20, 3, -0.0});
  EXPECT_EQ(all_bins(histogram), bins_as_defined({3, 0}));
  EXPECT_EQ(histogram->count, 8u);
}

TEST(Histogram, SaysOfAllElementsWhatNumpySaysOfThem) {
  const auto with_nan = histogram_of({kNan, 1, kInf});
  EXPECT_TRUE(std::isnan(with_nan->min));
  EXPECT_TRUE(std::isnan(with_nan->max));
  EXPECT_TRUE(std::isnan(with_nan->sum));
  EXPECT_TRUE(std::isnan(with_nan->sum_squares));
  const auto with_infinity = histogram_of({-kInf, 1});
  EXPECT_EQ(with_infinity->min, -kInf);
  EXPECT_EQ(with_infinity->max, 1);
  EXPECT_EQ(with_infinity->sum, -kInf);
  EXPECT_EQ(with_infinity->sum_squares, kInf);
  const auto beyond = histogram_of({1e30, 2});
  EXPECT_EQ(beyond->max, 1e30);
  EXPECT_DOUBLE_EQ(beyond->sum_squares, 1e60);
  EXPECT_EQ(beyond->count, 2u);
}

TEST(Histogram, IsNotThereWhereNoElementIsInABin) {
  EXPECT_FALSE(histogram_of({}));
  EXPECT_FALSE(histogram_of({kNan, kInf, -1e21}));
}

TEST(Histogram, StartsAnewWhenItIsCleared) {
  HistogramCounter counter;
  const double values[] = {1, 2};
  counter.add(DType::float64, values, 2);
  counter.clear();
  EXPECT_FALSE(counter.histogram({}));
  counter.add(DType::float64, values, 1);
  EXPECT_EQ(
      all_bins(counter.histogram(statistics_of(DType::float64, values, 1))),
      bins_as_defined({1}));
}

template <typename T>
std::vector<T> random_bits(std::mt19937_64& random, std::size_t count) {
  std::vector<T> elements(count);
  for (T& element : elements) {
    const std::uint64_t bits[] = {random(), random()};
    std::memcpy(&element, bits, sizeof(T));
  }
  return elements;
}

template <typename T>
void check_random(DType dtype, std::mt19937_64& random) {
  SCOPED_TRACE(dtype_name(dtype));
  const auto elements = random_bits<T>(random, 1 + random() % 5000);
  EXPECT_EQ(all_bins(histogram_of(dtype, elements)),
            bins_as_defined(as_doubles(dtype, elements)));
}

TEST(Histogram, EqualsABinarySearchForRandomBitsOfEveryDtype) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5; ++round) {
    check_random<std::uint16_t>(DType::float16, random);
    check_random<std::uint16_t>(DType::bfloat16, random);
    check_random<float>(DType::float32, random);
    check_random<double>(DType::float64, random);
    check_random<std::uint8_t>(DType::float8_e4m3fn, random);
    check_random<std::uint8_t>(DType::float8_e5m2, random);
    check_random<std::int8_t>(DType::int8, random);
    check_random<std::int16_t>(DType::int16, random);
    check_random<std::int32_t>(DType::int32, random);
    check_random<std::int64_t>(DType::int64, random);
    check_random<std::uint8_t>(DType::uint8, random);
    check_random<std::uint16_t>(DType::uint16, random);
    check_random<std::uint32_t>(DType::uint32, random);
    check_random<std::uint64_t>(DType::uint64, random);
    check_random<std::array<float, 2>>(DType::complex64, random);
    check_random<std::array<double, 2>>(DType::complex128, random);
  }
}

TEST(Histogram, OfATensorInPiecesIsThatOfTheWhole) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 1e-3);
  std::vector<double> values(20000);
  std::ranges::generate(values, [&] { return normal(random); });
  HistogramCounter counter;
  // From an odd address, as bytes of a file may lie.
  std::vector<std::byte> bytes(values.size() * sizeof(double) + 1);
  std::memcpy(bytes.data() + 1, values.data(), bytes.size() - 1);
  for (std::size_t done = 0; done < values.size();) {
    const std::size_t n =
        std::min<std::size_t>(values.size() - done, 1 + random() % 3000);
    counter.add(DType::float64, bytes.data() + 1 + done * sizeof(double), n);
    done += n;
  }
  const auto statistics =
      statistics_of(DType::float64, values.data(), values.size());
  EXPECT_EQ(all_bins(counter.histogram(statistics)), bins_as_defined(values));
}

}  // namespace
}  // namespace smdebug
