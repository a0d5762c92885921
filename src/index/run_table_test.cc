#include "index/run_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IndexFile file_of(std::vector<IndexedTensor> tensors) {
  IndexFile file;
  file.mode = Mode::train;
  file.tensors = std::move(tensors);
  return file;
}

std::vector<Step> steps_of(const RunTable& table, TensorId id) {
  std::vector<Step> steps;
  for (EntryId entry : table.entries_of(id)) {
    steps.push_back(table.step_of(entry));
  }
  return steps;
}

TEST(RunTable, KeepsStepsInOrderHoweverFilesCome) {
  RunTable table;
  for (Step step : {30, 10, 20, 0, 40}) {
    table.add_file({step, "worker_0"}, file_of({{"w", 0, 10, {}}}), true);
  }
  EXPECT_THAT(steps_of(table, *table.find_tensor("w")),
              ElementsAre(0, 10, 20, 30, 40));
}

TEST(RunTable, MergesValueAndShapeOfOneTensor) {
  RunTable table;
  IndexFile file = file_of({{"w", 64, 10, 7u}});
  file.shapes.push_back({"w", "scope/w:0", {2, 3}});
  table.add_file({5, "worker_0"}, file, true);

  const auto entries = table.entries_at(*table.find_tensor("w"), 5);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(table.entry(entries[0]).has_record());
  EXPECT_EQ(table.entry(entries[0]).start, 64u);
  EXPECT_EQ(table.entry(entries[0]).payload_crc32c, 7u);
  EXPECT_THAT(*table.shape(entries[0]), ElementsAre(2, 3));
  EXPECT_EQ(table.original_name(*table.find_tensor("w")), "scope/w:0");
}

TEST(RunTable, TakesTheLaterOfTwoRecordsOfOneName) {
  RunTable table;
  table.add_file({0, "worker_0"},
                 file_of({{"w", 0, 10, {}}, {"w", 10, 12, {}}}), true);
  const auto entries = table.entries_of(*table.find_tensor("w"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(table.entry(entries[0]).start, 10u);
}

TEST(RunTable, KnowsThePlaceOfAShard) {
  RunTable table;
  const auto file_with = [](const std::optional<ShardPlacement>& placement) {
    IndexFile file;
    file.statistics.push_back({"v", DType::float32, {1}, {}, {}});
    file.statistics.push_back({"w", DType::float32, {2}, {}, placement});
    return file;
  };
  const ShardPlacement first{{4}, {0}}, second{{4}, {2}};
  table.add_file({1, "worker_1"}, file_with(second), true);
  table.add_file({0, "worker_0"}, file_with(first), true);
  table.add_file({2, "worker_0"}, file_with(std::nullopt), false);
  const auto place = [&](Step step) {
    return table.placement(
        table.entries_at(*table.find_tensor("w"), step).front());
  };
  EXPECT_EQ(*place(0), first);
  EXPECT_EQ(*place(1), second);
  EXPECT_EQ(place(2), nullptr);
  EXPECT_EQ(table.placement(table.entries_of(*table.find_tensor("v")).front()),
            nullptr);
}

TEST(RunTable, PutsReductionsUnderTheNameOfTheirTensor) {
  RunTable table;
  table.add_file({0, "worker_0"},
                 file_of({{"smdebug/reductions/abs_l2/a/b", 0, 10, {}}}), true);
  EXPECT_EQ(table.tensor_count(), 1u);
  const auto entries = table.entries_of(*table.find_tensor("a/b"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(table.entry(entries[0]).is_reduction());
  EXPECT_EQ(table.entry(entries[0]).op(), (ReductionOp{Reduction::l2, true}));
}

TEST(RunTable, FindsStatisticsWhereverTheTensorStandsInTheFile) {
  RunTable table;
  IndexFile file = file_of({{"raw", 0, 10, {}}, {"both", 10, 10, {}}});
  TensorStatistics seven, nine;
  seven.count = 7;
  nine.count = 9;
  file.statistics.push_back({"alone", DType::float16, {7}, seven});
  file.statistics.push_back({"both", DType::bfloat16, {9}, nine});
  table.add_file({0, "worker_0"}, file, true);

  const auto only = [&](const char* name) {
    return table.entries_of(*table.find_tensor(name))[0];
  };
  EXPECT_EQ(table.statistics(only("raw")), nullptr);
  EXPECT_EQ(table.statistics(only("alone"))->count, 7u);
  EXPECT_EQ(table.statistics(only("both"))->count, 9u);
  EXPECT_EQ(table.entry(only("both")).dtype(), DType::bfloat16);
  EXPECT_EQ(table.entry(only("raw")).dtype(), std::nullopt);
  EXPECT_TRUE(table.entry(only("both")).has_record());
  EXPECT_FALSE(table.entry(only("alone")).has_record());
}

TEST(RunTable, FillsStatisticsLaterAndOnlyWhereTheFileStillHasThem) {
  RunTable table;
  IndexFile file = file_of({});
  TensorStatistics row;
  row.count = 3;
  file.statistics.push_back({"a", DType::float32, {3}, row});
  file.statistics.push_back({"b", DType::float32, {3}, row});
  const FileId id = table.add_file({0, "worker_0"}, file, false);
  const EntryId a = table.entries_of(*table.find_tensor("a"))[0];
  const EntryId b = table.entries_of(*table.find_tensor("b"))[0];
  EXPECT_TRUE(table.has_statistics(a));
  EXPECT_EQ(table.statistics(a), nullptr);

  file.statistics.erase(file.statistics.begin());
  table.add_statistics(id, file);
  EXPECT_EQ(table.statistics(a), nullptr);
  EXPECT_EQ(table.statistics(b)->count, 3u);
}

TEST(RunTable, CountsWorkersOfAStep) {
  RunTable table;
  table.add_file({4, "worker_0"}, file_of({{"w", 0, 10, {}}}), true);
  EXPECT_EQ(table.find_step(4)->workers, 1u);
  table.add_file({4, "worker_1"}, file_of({{"w", 0, 10, {}}}), true);
  EXPECT_EQ(table.find_step(4)->workers, 2u);
  EXPECT_TRUE(table.has_file({4, "worker_1"}));
  EXPECT_FALSE(table.has_file({4, "worker_2"}));
  EXPECT_EQ(table.find_step(5), nullptr);
}

TEST(RunTable, KnowsWhichModesATensorWasSeenIn) {
  RunTable table;
  IndexFile file = file_of({{"w", 0, 10, {}}});
  file.mode_step = 3;
  table.add_file({7, "worker_0"}, file, true);
  const TensorId w = *table.find_tensor("w");
  EXPECT_TRUE(table.is_seen_in(w, Mode::train));
  EXPECT_FALSE(table.is_seen_in(w, Mode::eval));
  EXPECT_THAT(table.steps_of(Mode::train), ElementsAre(std::pair(3, 7)));
  EXPECT_THAT(table.steps_of(Mode::eval), IsEmpty());
}

TEST(RunTable, NamesAnEventFileThatLiesElsewhere) {
  RunTable table;
  IndexFile usual = file_of({{"w", 0, 10, {}}});
  usual.event_file_key = "events/000000000000/000000000000_worker_0.tfevents";
  IndexFile other = usual;
  other.event_file_key = "events/x/y.tfevents";
  const FileId a = table.add_file({0, "worker_0"}, usual, true);
  const FileId b = table.add_file({1, "worker_0"}, other, true);
  EXPECT_EQ(table.event_file(a), usual.event_file_key);
  EXPECT_EQ(table.event_file(b), other.event_file_key);
}

}  // namespace
}  // namespace smdebug
