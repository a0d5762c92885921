#include "format/statistics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/statistics_content_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kEventFile =
    "events/000000000007/000000000007_worker_0.tfevents";

std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file));
}

// Statistics of two tensors, one a shard; a record of one of them, a reduction
// of it, and a record of a third; the shape of the second, and of a fourth.
IndexFile sample(double mean) {
  const std::vector<std::int64_t> matrix = {3, 4}, scalar;
  const ShardPlacement placement = {{7, 4}, {4, 0}};
  TensorStatistics statistics;
  statistics.count = 12;
  statistics.nan = 1;
  statistics.zeros = 2;
  statistics.min = -1;
  statistics.mean = mean;
  statistics.sum_squares = 0.1;
  IndexFileBuilder builder;
  builder.add_statistics("\"weight\"", DType::float32, matrix, statistics,
                         &placement);
  builder.add_statistics("\"loss\"", DType::bfloat16, scalar, statistics);
  builder.add_tensor("\"weight\"", 0, 120, 0x01020304);
  builder.add_tensor("\"smdebug/reductions/abs_mean/weight\"", 120, 90, 5);
  builder.add_tensor("\"label\"", 210, 60, 6);
  builder.add_shape("\"loss\"", "\"loss:0\"", scalar);
  builder.add_shape("\"bias\"", "\"Net.bias\"", matrix);
  builder.set_drops(3, 4096);
  return *parse_index_file(builder.finish(Mode::train, 3, kEventFile),
                           IndexParts::everything);
}

void expect_same(const IndexFile& one, const IndexFile& other) {
  EXPECT_EQ(one.mode, other.mode);
  EXPECT_EQ(one.mode_step, other.mode_step);
  EXPECT_EQ(one.event_file_key, other.event_file_key);
  EXPECT_EQ(one.dropped_tensors, other.dropped_tensors);
  EXPECT_EQ(one.dropped_bytes, other.dropped_bytes);
  ASSERT_EQ(one.statistics.size(), other.statistics.size());
  for (std::size_t i = 0; i < one.statistics.size(); ++i) {
    const IndexedStatistics &a = one.statistics[i], &b = other.statistics[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.dtype, b.dtype);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.statistics, b.statistics);
    EXPECT_EQ(a.placement, b.placement);
  }
  ASSERT_EQ(one.tensors.size(), other.tensors.size());
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    const IndexedTensor &a = one.tensors[i], &b = other.tensors[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.start, b.start);
    EXPECT_EQ(a.length, b.length);
    EXPECT_EQ(a.payload_crc32c, b.payload_crc32c);
  }
  ASSERT_EQ(one.shapes.size(), other.shapes.size());
  for (std::size_t i = 0; i < one.shapes.size(); ++i) {
    EXPECT_EQ(one.shapes[i].name, other.shapes[i].name);
    EXPECT_EQ(one.shapes[i].original_name, other.shapes[i].original_name);
    EXPECT_EQ(one.shapes[i].shape, other.shapes[i].shape);
  }
}

TEST(StatisticsFile, HasWhatTheIndexFilesHad) {
  StatisticsFileBuilder builder("worker_0");
  EXPECT_TRUE(builder.empty());
  builder.add(7, 1000, sample(0.5));
  IndexFile without_tensors;
  without_tensors.mode = Mode::eval;
  without_tensors.mode_step = 1;
  without_tensors.dropped_tensors = 9;
  builder.add(8, 1001, without_tensors);
  builder.add(12, 1002, sample(-2));
  EXPECT_EQ(builder.steps(), 3u);
  EXPECT_EQ(builder.first(), 7);
  EXPECT_EQ(builder.last(), 12);
  const std::string bytes = builder.finish();
  EXPECT_TRUE(builder.empty());

  const auto file = parse_statistics_file(bytes_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_THAT(file->steps(), SizeIs(3));
  EXPECT_EQ(file->steps()[0].name, (StepFileName{7, "worker_0"}));
  EXPECT_EQ(file->steps()[2].name, (StepFileName{12, "worker_0"}));
  EXPECT_EQ(file->steps()[1].index_bytes, 1001u);
  expect_same(content_of(*file, file->steps()[0]), sample(0.5));
  expect_same(content_of(*file, file->steps()[1]), without_tensors);
  expect_same(content_of(*file, file->steps()[2]), sample(-2));
}

TEST(StatisticsFile, OfOtherColumnsIsRefused) {
  std::vector<ArrowColumn> columns;
  columns.emplace_back("step", ArrowType::int64);
  const std::string bytes = write_arrow_file(columns, {});
  const auto file = parse_statistics_file(bytes_of(bytes));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Error::Code::corrupt);
  EXPECT_THAT(file.error().message, HasSubstr("no column 'mode'"));
}

TEST(StatisticsFile, WhoseStepsAreNotInOrderIsRefused) {
  StatisticsFileBuilder builder("worker_0");
  builder.add(8, 1000, sample(1));
  builder.add(7, 1000, sample(1));
  const std::string bytes = builder.finish();
  const auto file = parse_statistics_file(bytes_of(bytes));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("not in order"));
}

TEST(StatisticsFile, OfNoStepsIsEmpty) {
  const std::string bytes = StatisticsFileBuilder("worker_0").finish();
  const auto file = parse_statistics_file(bytes_of(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->steps(), IsEmpty());
}

}  // namespace
}  // namespace smdebug
