#include "smdebug/core/shard.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using Extents = std::vector<std::int64_t>;

// Of the elements of a matrix of `columns` columns that lie in a box, by a
// plain loop in two passes.
TensorStatistics of_box(const std::vector<double>& matrix, std::int64_t columns,
                        const Extents& offsets, const Extents& shape) {
  std::vector<double> box;
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      box.push_back(matrix[static_cast<std::size_t>((offsets[0] + r) * columns +
                                                    offsets[1] + c)]);
    }
  }
  TensorStatistics s;
  s.count = box.size();
  if (box.empty()) return s;
  s.min = *std::ranges::min_element(box);
  s.max = *std::ranges::max_element(box);
  s.mean = std::accumulate(box.begin(), box.end(), 0.0) /
           static_cast<double>(box.size());
  for (const double x : box) {
    s.zeros += x == 0 ? 1 : 0;
    s.m2 += (x - s.mean) * (x - s.mean);
    s.sum_abs += std::abs(x);
    s.sum_squares += x * x;
  }
  return s;
}

Shard part(const Extents& whole, const Extents& offsets, const Extents& shape,
           const TensorStatistics& statistics = {}) {
  return {{whole, offsets}, shape, statistics};
}

void expect_same(const TensorStatistics& found,
                 const TensorStatistics& wanted) {
  EXPECT_EQ(found.count, wanted.count);
  EXPECT_EQ(found.zeros, wanted.zeros);
  EXPECT_EQ(found.min, wanted.min);
  EXPECT_EQ(found.max, wanted.max);
  EXPECT_NEAR(found.mean, wanted.mean, 1e-12);
  EXPECT_NEAR(found.m2, wanted.m2, 1e-9);
  EXPECT_NEAR(found.sum_abs, wanted.sum_abs, 1e-9);
  EXPECT_NEAR(found.sum_squares, wanted.sum_squares, 1e-9);
}

TEST(MergeShards, GivesTheStatisticsOfTheWholeForRandomGrids) {
  const unsigned seed = std::random_device()();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    const auto rows = static_cast<std::int64_t>(1 + random() % 9);
    const auto columns = static_cast<std::int64_t>(1 + random() % 9);
    std::vector<double> matrix(static_cast<std::size_t>(rows * columns));
    for (double& x : matrix) x = static_cast<double>(random() % 7) - 3;
    // As torch.chunk cuts: the last parts may be smaller, or empty.
    const auto tall = static_cast<std::int64_t>(1 + random() % 4);
    const auto wide = static_cast<std::int64_t>(1 + random() % 4);
    const std::int64_t height = (rows + tall - 1) / tall;
    const std::int64_t width = (columns + wide - 1) / wide;
    std::vector<Shard> shards;
    for (std::int64_t i = 0; i < tall; ++i) {
      for (std::int64_t j = 0; j < wide; ++j) {
        const Extents offsets = {std::min(i * height, rows),
                                 std::min(j * width, columns)};
        const Extents shape = {std::min(height, rows - offsets[0]),
                               std::min(width, columns - offsets[1])};
        shards.push_back(part({rows, columns}, offsets, shape,
                              of_box(matrix, columns, offsets, shape)));
        if (random() % 3 == 0) shards.push_back(shards.back());  // a replica
      }
    }
    std::ranges::shuffle(shards, random);
    const auto merged = merge_shards(shards);
    ASSERT_THAT(merged, IsOk());
    expect_same(*merged, of_box(matrix, columns, {0, 0}, {rows, columns}));
  }
}

TEST(MergeShards, SaysHowMuchOfTheWholeIsMissing) {
  const std::vector<Shard> shards = {part({4, 3}, {2, 0}, {2, 3})};
  const auto merged = merge_shards(shards);
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().code, Error::Code::not_found);
  EXPECT_NE(merged.error().message.find("6 of 12"), std::string::npos);
}

TEST(MergeShards, RefusesPartsThatOverlap) {
  const std::vector<Shard> shards = {part({4}, {0}, {3}), part({4}, {2}, {2})};
  EXPECT_EQ(merge_shards(shards).error().code, Error::Code::corrupt);
}

TEST(MergeShards, RefusesPartsOfDifferentWholes) {
  const std::vector<Shard> shards = {part({4}, {0}, {2}), part({5}, {2}, {2})};
  EXPECT_EQ(merge_shards(shards).error().code, Error::Code::corrupt);
}

TEST(MergeShards, HasNothingToSayOfNoShards) {
  EXPECT_EQ(merge_shards({}).error().code, Error::Code::not_found);
}

TEST(ShardPlacement, HoldsOnlyWhatLiesInsideTheWhole) {
  const ShardPlacement placement{{4, 3}, {2, 0}};
  EXPECT_TRUE(placement.holds(Extents{2, 3}));
  EXPECT_TRUE(placement.holds(Extents{0, 3}));
  EXPECT_FALSE(placement.holds(Extents{3, 3}));
  EXPECT_FALSE(placement.holds(Extents{2}));
  EXPECT_FALSE((ShardPlacement{{4}, {-1}}.holds(Extents{2})));
  EXPECT_FALSE((ShardPlacement{{4}, {5}}.holds(Extents{0})));
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_FALSE((ShardPlacement{{kHuge, kHuge}, {0, 0}}.holds(Extents{1, 1})));
}

}  // namespace
}  // namespace smdebug
