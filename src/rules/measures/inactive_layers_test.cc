#include "rules/measures/inactive_layers.h"

#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

using Shape = std::vector<std::int64_t>;

TensorView view_of(const std::vector<float>& values, const Shape& shape) {
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(values.data());
  view.shape = shape;
  return view;
}

TEST(UnitActivity, KnowsHowManySamplesOfAUnitAShapeHolds) {
  EXPECT_EQ(samples_per_unit(Shape{8, 3, 4, 4}, Unit::element), 8);
  EXPECT_EQ(samples_per_unit(Shape{8, 3, 4, 4}, Unit::channel), 128);
  EXPECT_EQ(samples_per_unit(Shape{8, 3, 4, 4}, Unit::last), 96);
  for (const Unit unit : {Unit::element, Unit::channel, Unit::last}) {
    EXPECT_EQ(samples_per_unit(Shape{8}, unit), 1);
    EXPECT_EQ(samples_per_unit(Shape{}, unit), 1);
    EXPECT_EQ(samples_per_unit(Shape{0, 3}, unit), 0);
    EXPECT_EQ(samples_per_unit(Shape{3, 0}, unit), 0);
  }
}

// Against nested loops over N, C, H, W. Seeds 0 to 49.
TEST(UnitActivity, CountsEachUnitByItsIndex) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t n = 1 + random() % 5, c = 1 + random() % 4,
                       h = 1 + random() % 9, w = 1 + random() % 20;
    std::vector<float> values;
    std::map<std::int64_t, std::uint64_t> elements, channels, last;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < c; ++j) {
        for (std::int64_t k = 0; k < h; ++k) {
          for (std::int64_t l = 0; l < w; ++l) {
            const float x = random() % 3 == 0 ? NAN : float(random() % 5) - 2;
            values.push_back(x);
            const bool is_active = x > -1.5f && x < 1.5f;
            elements[(j * h + k) * w + l] += is_active;
            channels[j] += is_active;
            last[l] += is_active;
          }
        }
      }
    }
    const auto expect = [&](Unit unit, const auto& expected) {
      const UnitCounts counts =
          count_units(view_of(values, {n, c, h, w}), {-1.5, 1.5}, unit);
      ASSERT_EQ(counts.active.size(), expected.size()) << seed;
      std::uint64_t samples = 0;
      for (std::size_t i = 0; i < counts.active.size(); ++i) {
        EXPECT_EQ(counts.active[i], expected.at(std::int64_t(i))) << seed;
        samples += counts.samples[i];
      }
      std::uint64_t numbers = 0;
      for (const float x : values) numbers += !std::isnan(x);
      EXPECT_EQ(samples, numbers);
    };
    expect(Unit::element, elements);
    expect(Unit::channel, channels);
    expect(Unit::last, last);
  }
}

}  // namespace
}  // namespace smdebug
