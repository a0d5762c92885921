#include "index/run_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/written_run_testing.h"
#include "store/backends.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

WrittenStep train_step(Step step) {
  return {{step, Mode::train, step}, "worker_0", {{"w", {1, 2}, true}}};
}

// Notes what is listed. Folders have the versions that the test gives them.
class ListedStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    listed.emplace_back(prefix);
    return ForwardingStorage::list(prefix, after);
  }
  std::optional<std::uint64_t> folder_version(
      std::string_view folder) const override {
    const auto version = versions.find(folder);
    if (version == versions.end()) return std::nullopt;
    return version->second;
  }

  std::map<std::string, std::uint64_t, std::less<>> versions;
  mutable std::vector<std::string> listed;
};

class RunIndexTest : public testing::Test {
 protected:
  std::shared_ptr<Storage> storage_ = make_memory_storage("memory://index");
  WrittenRun run_{storage_};
  RunIndex index_{storage_, std::nullopt, std::nullopt};
  std::string key_ = index_file_key(1, "worker_0");
};

TEST_F(RunIndexTest, ReadsEachFileOnce) {
  run_.put_step(train_step(0));
  ASSERT_TRUE(index_.refresh("").ok());
  run_.put_step(train_step(1));
  ASSERT_TRUE(index_.refresh("").ok());
  ASSERT_TRUE(index_.refresh("").ok());
  EXPECT_EQ(index_.table().entry_count(), 2u);
}

TEST_F(RunIndexTest, ListsOnlyWhatComesAfterTheGivenKey) {
  run_.put_step(train_step(0));
  run_.put_step(train_step(1));
  ASSERT_TRUE(index_.refresh(index_file_key(0, "worker_0")).ok());
  EXPECT_EQ(index_.table().find_step(0), nullptr);
  EXPECT_NE(index_.table().find_step(1), nullptr);
}

TEST_F(RunIndexTest, ListsOnlyTheFoldersThatHaveChanged) {
  using ::testing::ElementsAre;
  const auto storage = std::make_shared<ListedStorage>(storage_);
  const std::string old = "index/000000000/", recent = "index/000000001/";
  storage->versions = {{"index/", 1}, {old, 1}, {recent, 1}};
  RunIndex index(storage, std::nullopt, std::nullopt);
  const auto listed_at_refresh = [&](std::string_view after, bool all = false) {
    storage->listed.clear();
    EXPECT_TRUE(index.refresh(after, all).ok());
    return storage->listed;
  };
  run_.put_step(train_step(0));
  run_.put_step(train_step(1000));
  EXPECT_THAT(listed_at_refresh(""), ElementsAre("index/"));
  // What a folder's version was before it was known is not known.
  EXPECT_THAT(listed_at_refresh(""), ElementsAre(old, recent));
  EXPECT_THAT(listed_at_refresh(""), IsEmpty());

  run_.put_step(train_step(1001));
  storage->versions[recent] = 2;
  EXPECT_THAT(listed_at_refresh(""), ElementsAre(recent));
  EXPECT_NE(index.table().find_step(1001), nullptr);
  EXPECT_THAT(listed_at_refresh(""), IsEmpty());
  EXPECT_THAT(listed_at_refresh("", true), ElementsAre("index/"));

  storage->versions[old] = 2;
  EXPECT_THAT(listed_at_refresh(index_file_key(1000, "")), IsEmpty());
  storage->versions.erase(recent);  // nobody can tell any more
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(listed_at_refresh(index_file_key(1000, "")),
                ElementsAre(recent));
  }
  run_.put_step(train_step(2000));
  storage->versions["index/"] = 2;
  EXPECT_THAT(listed_at_refresh(index_file_key(1000, "")),
              ElementsAre("index/"));
  EXPECT_NE(index.table().find_step(2000), nullptr);
}

TEST_F(RunIndexTest, FindsTheStatisticsOfAFileWithAnUnusualName) {
  const auto [events, index] = WrittenRun::make_step(train_step(1));
  run_.put("index/elsewhere/1_worker_0.csv", index);
  ASSERT_TRUE(index_.refresh("").ok());
  index_.load_statistics();
  EXPECT_THAT(index_.left_out(), IsEmpty());
  ASSERT_NE(index_.table().statistics(0), nullptr);
  EXPECT_EQ(index_.table().statistics(0)->count, 2u);
}

TEST_F(RunIndexTest, NeverReadsStepsOutsideTheRange) {
  for (Step step : {0, 1, 2, 3}) run_.put_step(train_step(step));
  RunIndex index(storage_, 1, 3);
  ASSERT_TRUE(index.refresh("").ok());
  EXPECT_EQ(index.table().steps().size(), 2u);
  EXPECT_EQ(index.table().steps().begin()->first, 1);
}

TEST_F(RunIndexTest, TellsABrokenFileOnceAndTakesItWhenItIsWhole) {
  const auto [events, index] = WrittenRun::make_step(train_step(1));
  run_.put(key_, index.substr(0, index.size() / 2));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(index_.refresh("").ok());
  ASSERT_EQ(index_.left_out().size(), 1u);
  EXPECT_EQ(index_.left_out()[0].key, key_);
  EXPECT_TRUE(index_.has_broken_files());

  run_.put(key_, index);
  ASSERT_TRUE(index_.refresh(key_).ok());
  EXPECT_THAT(index_.left_out(), IsEmpty());
  EXPECT_NE(index_.table().find_step(1), nullptr);
}

TEST_F(RunIndexTest, LeavesOutEmptyAndForeignFilesAndReadsTheRest) {
  run_.put(key_, "");
  run_.put("index/000000000/notes.json", "{}");
  run_.put(index_file_key(2, "worker_0"), "[1, 2, 3]");
  run_.put_step(train_step(3));
  ASSERT_TRUE(index_.refresh("").ok());
  ASSERT_TRUE(index_.refresh("").ok());
  EXPECT_EQ(index_.left_out().size(), 3u);
  EXPECT_EQ(index_.table().steps().size(), 1u);
}

TEST_F(RunIndexTest, KeepsSoundEntriesBesideBadOnes) {
  run_.put(
      key_,
      R"({"meta": {"mode": "TRAIN", "mode_step": 1, "event_file_name": )"
      R"("events/a/b.tfevents"}, "tensor_payload": [)"
      R"({"tensorname": "good", "start_idx": 0, "length": 10}, )"
      R"({"tensorname": "bad", "start_idx": -4, "length": 10}, )"
      R"({"tensorname": "huge", "start_idx": 0, "length": 99999999999}]})");
  ASSERT_TRUE(index_.refresh("").ok());
  EXPECT_TRUE(index_.table().find_tensor("good"));
  EXPECT_FALSE(index_.table().find_tensor("bad"));
  EXPECT_FALSE(index_.table().find_tensor("huge"));
  ASSERT_EQ(index_.left_out().size(), 2u);
  EXPECT_THAT(index_.left_out()[1].what, HasSubstr("'huge'"));
  EXPECT_FALSE(index_.has_broken_files());
}

TEST_F(RunIndexTest, LoadsStatisticsWhenAskedAndFromThenOn) {
  run_.put_step(train_step(0));
  ASSERT_TRUE(index_.refresh("").ok());
  const RunTable& table = index_.table();
  const TensorId w = *table.find_tensor("w");
  EXPECT_TRUE(table.has_statistics(table.entries_of(w)[0]));
  EXPECT_EQ(table.statistics(table.entries_of(w)[0]), nullptr);

  index_.load_statistics();
  ASSERT_NE(table.statistics(table.entries_of(w)[0]), nullptr);
  EXPECT_EQ(table.statistics(table.entries_of(w)[0])->mean, 1.5);

  run_.put_step(train_step(1));
  ASSERT_TRUE(index_.refresh("").ok());
  EXPECT_NE(table.statistics(table.entries_of(w)[1]), nullptr);
}

TEST_F(RunIndexTest, CountsDroppedTensors) {
  WrittenStep step = train_step(0);
  step.dropped_tensors = 5;
  run_.put_step(step);
  step = train_step(1);
  step.dropped_tensors = 2;
  run_.put_step(step);
  ASSERT_TRUE(index_.refresh("").ok());
  EXPECT_EQ(index_.table().dropped_tensors(), 7u);
}

}  // namespace
}  // namespace smdebug
