#include "capture/run_size_limit.h"

#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/file_names.h"
#include "store/backends.h"
#include "store/forwarding_storage.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Memory that notes what is removed, and refuses to when told so.
class Removals : public ForwardingStorage {
 public:
  Removals() : ForwardingStorage(make_memory_storage("memory://run_size")) {}

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    if (refuses_to_list) return Error{Error::Code::io, "the list is lost"};
    return ForwardingStorage::list(prefix, after);
  }
  Status remove(std::string_view key) override {
    if (key == refused) return Error{Error::Code::io, "permission denied"};
    removed.emplace_back(key);
    return ForwardingStorage::remove(key);
  }

  std::vector<std::string> removed;
  std::string refused;
  bool refuses_to_list = false;
};

class RunSizeLimitTest : public ::testing::Test {
 protected:
  RunSizeLimit keep(std::uint64_t max_bytes, Step keep_every = 0) {
    return RunSizeLimit(storage_, "worker_0", max_bytes, keep_every, log_);
  }

  // Writes a step of `bytes`, half of them in its index file.
  void put(Step step, std::uint64_t bytes, std::string_view worker) {
    const std::string half(bytes / 2, 'x');
    ASSERT_TRUE(put_object(*storage_, event_file_key(step, worker), half).ok());
    ASSERT_TRUE(put_object(*storage_, index_file_key(step, worker), half).ok());
  }
  void publish(RunSizeLimit& limit, Step step, std::uint64_t bytes) {
    put(step, bytes, "worker_0");
    limit.published(step, bytes);
  }

  std::vector<Step> steps(std::string_view worker = "worker_0") const {
    std::vector<Step> steps;
    const auto files = *storage_->list(kIndexPrefix, {});
    for (const ObjectEntry& file : files) {
      const auto name = parse_step_file_key(file.key);
      if (name->worker == worker) steps.push_back(name->step);
    }
    return steps;
  }

  std::shared_ptr<Removals> storage_ = std::make_shared<Removals>();
  RecordingLogger log_{LogLevel::info};
};

TEST_F(RunSizeLimitTest, RemovesTheOldestStepsUntilTheRestFits) {
  RunSizeLimit limit = keep(30);
  for (Step step = 0; step < 3; ++step) publish(limit, step, 10);
  EXPECT_THAT(storage_->removed, IsEmpty()) << "30 bytes are not too many";
  EXPECT_FALSE(limit.counts().first_kept_step.has_value());
  publish(limit, 3, 10);
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3));
  publish(limit, 4, 20);
  EXPECT_THAT(steps(), ElementsAre(3, 4));
  EXPECT_EQ(limit.counts().removed_steps, 3u);
  EXPECT_EQ(limit.counts().first_kept_step, 3);
}

TEST_F(RunSizeLimitTest, RemovesTheIndexFileOfAStepBeforeItsEventFile) {
  RunSizeLimit limit = keep(10);
  publish(limit, 0, 10);
  publish(limit, 1, 10);
  EXPECT_THAT(storage_->removed, ElementsAre(index_file_key(0, "worker_0"),
                                             event_file_key(0, "worker_0")));
}

TEST_F(RunSizeLimitTest, KeepsTheNewestStepHoweverLargeItIs) {
  RunSizeLimit limit = keep(10);
  publish(limit, 0, 1000);
  EXPECT_THAT(steps(), ElementsAre(0));
  publish(limit, 1, 1000);
  EXPECT_THAT(steps(), ElementsAre(1));
}

TEST_F(RunSizeLimitTest, RemovesMultiplesOfKeepEveryLast) {
  RunSizeLimit limit = keep(40, 4);
  for (Step step = 0; step <= 12; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(0, 4, 8, 12));
  EXPECT_EQ(limit.counts().first_kept_step, 0);
  publish(limit, 13, 10);
  EXPECT_THAT(steps(), ElementsAre(4, 8, 12, 13));
  publish(limit, 14, 10);
  EXPECT_THAT(steps(), ElementsAre(4, 8, 12, 14));
}

TEST_F(RunSizeLimitTest, CountsWhatEarlierAttemptsLeftAndRemovesThatFirst) {
  for (Step step : {5, 6, 7}) put(step, 10, "worker_0");
  put(0, 10, "worker_1");
  RunSizeLimit limit = keep(30);
  for (Step step : {0, 1}) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(0, 1, 7));
  publish(limit, 7, 10);  // written again
  EXPECT_THAT(steps(), ElementsAre(0, 1, 7));
  publish(limit, 8, 10);
  EXPECT_THAT(steps(), ElementsAre(1, 7, 8)) << "7 is young now";
  EXPECT_THAT(steps("worker_1"), ElementsAre(0)) << "another worker's";
}

TEST_F(RunSizeLimitTest, TriesAStepAgainThatCouldNotBeRemovedAndSaysItOnce) {
  RunSizeLimit limit = keep(10);
  storage_->refused = event_file_key(0, "worker_0");
  for (Step step : {0, 1, 2}) publish(limit, step, 10);
  EXPECT_EQ(limit.counts().removed_steps, 0u);
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("step 0 could not be removed"));
  EXPECT_THAT(log_.lines()[0], HasSubstr("permission denied"));
  storage_->refused.clear();
  publish(limit, 3, 10);
  EXPECT_THAT(steps(), ElementsAre(3));
  EXPECT_EQ(limit.counts().removed_steps, 3u);
}

TEST_F(RunSizeLimitTest,
       KeepsItsOwnStepsWithinTheLimitWhereTheRunCannotBeListed) {
  put(9, 100, "worker_0");
  storage_->refuses_to_list = true;
  RunSizeLimit limit = keep(20);
  for (Step step : {0, 1, 2}) publish(limit, step, 10);
  storage_->refuses_to_list = false;
  EXPECT_THAT(steps(), ElementsAre(1, 2, 9));
  EXPECT_THAT(log_.lines()[0], HasSubstr("the list is lost"));
}

TEST_F(RunSizeLimitTest, SaysOnceThatItRemoves) {
  RunSizeLimit limit = keep(10);
  for (Step step = 0; step < 10; ++step) publish(limit, step, 10);
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("max_run_bytes = 10"));
}

TEST_F(RunSizeLimitTest, SaysThatKeepEveryAloneHasNoEffect) {
  HookConfig config;
  EXPECT_EQ(RunSizeLimit::make(config, storage_, "worker_0", log_), nullptr);
  EXPECT_THAT(log_.lines(), IsEmpty());
  config.keep_every = 10;
  EXPECT_EQ(RunSizeLimit::make(config, storage_, "worker_0", log_), nullptr);
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0],
              HasSubstr("keep_every is 10, which has no effect without "
                        "max_run_bytes"));
}

// The same decisions, made with a plain list.
TEST_F(RunSizeLimitTest, KeepsWhatAPlainListWouldKeep) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::uint64_t max_bytes = 50 + random() % 300;
  const Step keep_every = random() % 6;
  RunSizeLimit limit = keep(max_bytes, keep_every);
  std::vector<std::pair<Step, std::uint64_t>> list;
  Step step = 0;
  for (int i = 0; i < 300; ++i) {
    step += 1 + random() % 3;
    list.emplace_back(step, 2 * (1 + random() % 50));
    publish(limit, step, list.back().second);
    const auto is_special = [&](const auto& entry) {
      return keep_every > 0 && entry.first % keep_every == 0;
    };
    const auto total = [&] {
      std::uint64_t bytes = 0;
      for (const auto& entry : list) bytes += entry.second;
      return bytes;
    };
    while (total() > max_bytes && list.size() > 1) {
      auto next = std::find_if_not(list.begin(), list.end() - 1, is_special);
      if (next == list.end() - 1) next = list.begin();
      list.erase(next);
    }
    std::vector<Step> kept;
    for (const auto& entry : list) kept.push_back(entry.first);
    ASSERT_EQ(steps(), kept) << "after step " << step;
  }
}

TEST_F(RunSizeLimitTest, KeepsAStepOnWhichARuleFiredAndItsNeighborsLongest) {
  RunSizeLimit limit = keep(40);
  for (Step step = 0; step < 3; ++step) publish(limit, step, 10);
  limit.keep(2);
  for (Step step = 3; step < 30; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 29));
}

TEST_F(RunSizeLimitTest, KeepsAStepThatIsPublishedAfterTheRuleFired) {
  RunSizeLimit limit = keep(40);
  for (Step step = 0; step < 3; ++step) publish(limit, step, 10);
  limit.keep(3);
  for (Step step = 3; step < 30; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4, 29));
}

TEST_F(RunSizeLimitTest, KeepsAStepThatAnotherProcessHasMarked) {
  RunSizeLimit limit = keep(40);
  for (Step step = 0; step < 3; ++step) publish(limit, step, 10);
  ASSERT_TRUE(put_object(*storage_, "rules/fired/000000000002_NaN.json", ""));
  for (Step step = 3; step < 30; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 29));
}

// A rule that judges a series fires on steps that were not saved.
TEST_F(RunSizeLimitTest, KeepsTheStepsAroundAnUnsavedStepOnWhichARuleFired) {
  RunSizeLimit limit = keep(30);
  for (Step step = 0; step <= 20; step += 10) publish(limit, step, 10);
  limit.keep(23);
  for (Step step = 30; step < 100; step += 10) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(20, 30, 90));
}

TEST_F(RunSizeLimitTest, TakesFilesWithoutAStepForNoMarks) {
  RunSizeLimit limit = keep(30);
  ASSERT_TRUE(put_object(*storage_, "rules/fired/watcher.json", ""));
  ASSERT_TRUE(put_object(*storage_, "rules/fired/1/000000000001_A.json", ""));
  for (Step step = 0; step < 10; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(7, 8, 9));
}

TEST_F(RunSizeLimitTest, StaysWithinTheLimitWhereTheMarksCannotBeListed) {
  RunSizeLimit limit = keep(30);
  publish(limit, 0, 10);
  storage_->refuses_to_list = true;
  for (Step step = 1; step < 10; ++step) publish(limit, step, 10);
  storage_->refuses_to_list = false;
  EXPECT_THAT(steps(), ElementsAre(7, 8, 9));
  EXPECT_THAT(log_.lines(), SizeIs(1)) << "that it removes";
}

TEST_F(RunSizeLimitTest, RemovesEvenKeptStepsBeforeItExceedsTheLimit) {
  RunSizeLimit limit = keep(20);
  for (Step step = 0; step < 3; ++step) publish(limit, step, 10);
  limit.keep(1);
  for (Step step = 3; step < 10; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(2, 9));
}

TEST_F(RunSizeLimitTest, CountsEveryOtherFileOfTheRun) {
  const std::string text(10, 'x');
  for (const std::string_view key :
       {"run.json", "rules/NaN.json", "collections/000000000/a"})
    ASSERT_TRUE(put_object(*storage_, key, text));
  ASSERT_TRUE(put_object(*storage_, "checkpoint.pt", std::string(1000, 'x')));
  RunSizeLimit limit = keep(60);
  for (Step step = 0; step < 6; ++step) publish(limit, step, 10);
  EXPECT_THAT(steps(), ElementsAre(3, 4, 5));
  limit.published(6, 10, /*tensorboard_bytes=*/10);
  EXPECT_THAT(steps(), ElementsAre(5));
}

TEST_F(RunSizeLimitTest, RemovesTheStepsOfAnAttemptThatWasMovedAsideFirst) {
  put(7, 10, "worker_0");
  for (const std::string& key :
       {index_file_key(7, "worker_0"), event_file_key(7, "worker_0")})
    ASSERT_TRUE(storage_->move(key, "attempts/1/" + key));
  RunSizeLimit limit = keep(20);
  for (Step step = 0; step < 2; ++step) publish(limit, step, 10);
  EXPECT_FALSE(
      *storage_->exists("attempts/1/" + index_file_key(7, "worker_0")));
  EXPECT_THAT(steps(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace smdebug
