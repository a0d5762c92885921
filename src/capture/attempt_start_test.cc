#include "capture/attempt_start.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/result_matchers_testing.h"
#include "capture/session_fixture_testing.h"
#include "format/run_file.h"
#include "format/series_file.h"
#include "store/forwarding_storage.h"
#include "tests/fault/faulty_storage.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kAside = "attempts/1/";

std::string aside(std::string_view key) {
  return std::string(kAside) + std::string(key);
}

class AttemptStartTest : public SessionFixture {
 protected:
  ~AttemptStartTest() override { unsetenv("CHECKPOINT_CONFIG_FILE_PATH"); }

  static void train(Session& session, int steps, float value) {
    for (int i = 0; i < steps; ++i) {
      session.begin_step();
      put(session, "w", {value});
    }
  }

  // Trains until the process is killed: nobody writes the end marker.
  void train_until_killed(int steps, float value) {
    {
      auto session = open();
      train(*session, steps, value);
      session->begin_step();
      ASSERT_TRUE(session->flush());
    }
    ASSERT_TRUE(storage_->remove(kClaimKey));
  }

  void train_to_the_end(int steps, float value) {
    auto session = open();
    train(*session, steps, value);
    const Status closed = session->close();
    ASSERT_TRUE(closed) << closed.error().message;
  }

  // The next session continues after `step`, as after loading a checkpoint.
  void continue_after(Step step) {
    std::ofstream(folder_.path() + "/metadata.json")
        << R"([{"training-run": 0, "latest-global-step-saved": null, )"
        << R"("latest-global-step-seen": )" << step
        << R"(, "latest-mode-step": {"GLOBAL": )" << step << "}}]";
    const std::string config = folder_.path() + "/config.json";
    std::ofstream(config) << R"({"LocalPath": ")" << folder_.path() << "\"}";
    setenv("CHECKPOINT_CONFIG_FILE_PATH", config.c_str(), 1);
  }

  std::vector<std::string> keys(std::string_view prefix) const {
    std::vector<std::string> keys;
    const auto listed = storage_->list(prefix);
    EXPECT_TRUE(listed);
    if (!listed) return keys;
    for (const ObjectEntry& object : *listed) keys.push_back(object.key);
    return keys;
  }

  float value_at(Step step) const { return records(step).at("w").at(0); }

  TemporaryFolder folder_;
};

TEST_F(AttemptStartTest, MovesTheStepsOfATrainingThatWasKilledOutOfTheWay) {
  train_until_killed(4, 1);
  const std::string old_index = text(index_file_key(3, "worker_0"));
  const std::string old_events = text(event_file_key(3, "worker_0"));
  train_to_the_end(2, 2);

  EXPECT_THAT(keys(kIndexPrefix), ElementsAre(index_file_key(0, "worker_0"),
                                              index_file_key(1, "worker_0")));
  EXPECT_THAT(keys(kEventsPrefix), SizeIs(2));
  EXPECT_EQ(value_at(0), 2);
  EXPECT_EQ(value_at(1), 2);
  EXPECT_THAT(keys(aside(kIndexPrefix)), SizeIs(4));
  EXPECT_EQ(text(aside(index_file_key(3, "worker_0"))), old_index);
  EXPECT_EQ(text(aside(event_file_key(3, "worker_0"))), old_events);
  EXPECT_THAT(
      log_.text(),
      HasSubstr("its 4 steps from 0 to 3 are now the run '" + storage_->uri() +
                "/attempts/1', and attempt 2 begins at step 0"));
}

TEST_F(AttemptStartTest, MakesTheEarlierAttemptACompleteRun) {
  train_until_killed(4, 1);
  const std::string collections = text(collections_file_key("worker_0"));
  train_to_the_end(2, 2);

  EXPECT_TRUE(is_there(aside(kEndMarkerKey)));
  EXPECT_EQ(text(aside(collections_file_key("worker_0"))), collections);
  const auto earlier = parse_run_file(text(aside(kRunFileKey)));
  ASSERT_TRUE(earlier);
  EXPECT_THAT(earlier->attempts, SizeIs(1));
  const auto newest = parse_run_file(text(kRunFileKey));
  ASSERT_TRUE(newest);
  EXPECT_THAT(newest->attempts, SizeIs(2));
}

TEST_F(AttemptStartTest, MovesTheFactsOfTheStepsThatItReplaces) {
  const auto put_facts = [&](Step step) {
    ASSERT_TRUE(put_object(*storage_, facts_file_key(step, "worker_0"),
                           std::to_string(step)));
  };
  train_until_killed(4, 1);
  put_facts(0);
  put_facts(3);
  continue_after(1);
  train_to_the_end(1, 2);
  EXPECT_THAT(keys(kFactsPrefix), ElementsAre(facts_file_key(0, "worker_0")));
  EXPECT_THAT(keys(aside(kFactsPrefix)),
              ElementsAre(aside(facts_file_key(0, "worker_0")),
                          aside(facts_file_key(3, "worker_0"))));
}

TEST_F(AttemptStartTest, MovesTheMarksOfTheStepsThatItReplaces) {
  const auto mark = [](Step step) {
    return "rules/fired/00000000000" + std::to_string(step) + "_NaN.json";
  };
  train_until_killed(4, 1);
  for (const Step step : {0, 3})
    ASSERT_TRUE(put_object(*storage_, mark(step), ""));
  continue_after(1);
  train_to_the_end(1, 2);
  EXPECT_THAT(keys("rules/fired/"), ElementsAre(mark(0)));
  EXPECT_THAT(keys(aside("rules/fired/")), ElementsAre(aside(mark(3))));
}

// Samples "loss" with the value `value` in the steps of [first, end).
SeriesFile losses(Step first, Step end, double value) {
  SeriesFile file = {"worker_0", {{"loss", {}}}};
  for (Step step = first; step < end; ++step)
    file.series[0].samples.push_back({{step, Mode::global, step}, value});
  return file;
}

TEST_F(AttemptStartTest, DividesTheScalarsAtItsFirstStep) {
  const auto put_losses = [&](Step first, Step end, std::uint64_t number) {
    ASSERT_TRUE(put_object(
        *storage_, series_file_key({"worker_0", first, end - 1, number}),
        write_series_file(losses(first, end, 1))));
  };
  train_until_killed(4, 1);
  put_losses(0, 1, 0);
  put_losses(1, 5, 1);
  put_losses(5, 7, 2);
  continue_after(1);
  train_to_the_end(1, 2);
  EXPECT_THAT(keys(kSeriesPrefix),
              ElementsAre(series_file_key({"worker_0", 0, 0, 0}),
                          series_file_key({"worker_0", 1, 1, 1})));
  EXPECT_EQ(text(series_file_key({"worker_0", 1, 1, 1})),
            write_series_file(losses(1, 2, 1)));
  EXPECT_THAT(keys(aside(kSeriesPrefix)),
              ElementsAre(aside(series_file_key({"worker_0", 2, 4, 1})),
                          aside(series_file_key({"worker_0", 5, 6, 2}))));
  EXPECT_EQ(text(aside(series_file_key({"worker_0", 2, 4, 1}))),
            write_series_file(losses(2, 5, 1)));
}

TEST_F(AttemptStartTest, MovesScalarsOfStepsOfWhichNoneWasSaved) {
  every_step(1000);
  {
    auto session = open();
    train(*session, 5, 1);
    session->scalar("loss").note(1);
    ASSERT_TRUE(session->flush());
  }
  ASSERT_TRUE(storage_->remove(kClaimKey));
  continue_after(1);
  train_to_the_end(3, 2);
  EXPECT_THAT(keys(kSeriesPrefix), IsEmpty());
  EXPECT_THAT(keys(aside(kSeriesPrefix)),
              ElementsAre(aside(series_file_key({"worker_0", 4, 4, 0}))));
  EXPECT_THAT(log_.text(), HasSubstr("its scalars are now the run"));
}

TEST_F(AttemptStartTest, NumbersTheAttempts) {
  train_until_killed(3, 1);
  train_until_killed(2, 2);
  train_to_the_end(1, 3);
  EXPECT_THAT(keys("attempts/1/index/"), SizeIs(3));
  EXPECT_THAT(keys("attempts/2/index/"), SizeIs(2));
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(1));
  EXPECT_EQ(value_at(0), 3);
}

TEST_F(AttemptStartTest, LeavesTheStepsBeforeACheckpointInPlace) {
  train_until_killed(6, 1);
  continue_after(3);
  train_to_the_end(1, 2);

  EXPECT_THAT(keys(kIndexPrefix), SizeIs(5));
  EXPECT_EQ(value_at(3), 1);
  EXPECT_EQ(value_at(4), 2);
  EXPECT_THAT(keys(aside(kIndexPrefix)),
              ElementsAre(aside(index_file_key(4, "worker_0")),
                          aside(index_file_key(5, "worker_0"))));
  EXPECT_TRUE(is_there(aside(collections_file_key("worker_0"))));
  EXPECT_THAT(log_.text(), HasSubstr("its 2 steps from 4 to 5"));
}

TEST_F(AttemptStartTest, MovesNothingWhenTheCheckpointIsNewerThanTheLastStep) {
  train_until_killed(4, 1);
  continue_after(3);
  train_to_the_end(2, 2);
  EXPECT_THAT(keys("attempts/"), IsEmpty());
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(6));
}

TEST_F(AttemptStartTest, MovesNothingInANewFolder) {
  train_to_the_end(2, 1);
  EXPECT_THAT(keys("attempts/"), IsEmpty());
  EXPECT_THAT(log_.text(), IsEmpty());
}

TEST_F(AttemptStartTest, ListsTheIndexOfARunOnce) {
  class Listings final : public ForwardingStorage {
   public:
    using ForwardingStorage::ForwardingStorage;
    Result<std::vector<ObjectEntry>> list(
        std::string_view prefix, std::string_view after) const override {
      of_index += prefix == kIndexPrefix;
      return ForwardingStorage::list(prefix, after);
    }
    mutable std::atomic<int> of_index = 0;
  };
  train_until_killed(2, 1);
  const auto run = std::make_shared<Listings>(storage_);
  storage_ = run;
  train_to_the_end(3, 2);
  EXPECT_EQ(run->of_index, 1);
}

TEST_F(AttemptStartTest, MovesTheFilesOfWorkersThatAreNoLongerThere) {
  train_until_killed(2, 1);
  ASSERT_TRUE(storage_->move(index_file_key(1, "worker_0"),
                             index_file_key(1, "worker_5")));
  train_to_the_end(1, 2);
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(1));
  EXPECT_TRUE(is_there(aside(index_file_key(1, "worker_5"))));
}

TEST_F(AttemptStartTest, FinishesAMoveThatWasCutOff) {
  train_until_killed(3, 1);
  ASSERT_TRUE(storage_->move(index_file_key(0, "worker_0"),
                             aside(index_file_key(0, "worker_0"))));
  train_to_the_end(1, 2);
  EXPECT_THAT(keys(aside(kIndexPrefix)), SizeIs(3));
  EXPECT_THAT(keys(aside(kEventsPrefix)), SizeIs(3));
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(1));
}

TEST_F(AttemptStartTest, MovesARunWithoutARecordOfItsAttempts) {
  train_until_killed(2, 1);
  ASSERT_TRUE(storage_->remove(kRunFileKey));
  train_to_the_end(1, 2);
  EXPECT_THAT(keys("attempts/0/index/"), SizeIs(2));
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(1));
}

TEST_F(AttemptStartTest, LeavesTheStepsOfAWorkerThatBeganBeforeTheFirst) {
  train_to_the_end(2, 1);
  for (const Step step : {0, 1}) {
    ASSERT_TRUE(storage_->move(index_file_key(step, "worker_0"),
                               index_file_key(step, "worker_1")));
    ASSERT_TRUE(storage_->move(event_file_key(step, "worker_0"),
                               event_file_key(step, "worker_1")));
  }
  ASSERT_TRUE(storage_->move(collections_file_key("worker_0"),
                             collections_file_key("worker_1")));
  for (const std::string_view key : {kRunFileKey, kEndMarkerKey, kClaimKey})
    (void)storage_->remove(key);

  train_to_the_end(2, 2);
  EXPECT_THAT(keys("attempts/"), IsEmpty());
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(4));
  EXPECT_TRUE(is_there(collections_file_key("worker_1")));
}

// 1 TiB that takes no room on disk, but would as a copy in memory.
TEST_F(AttemptStartTest, LoadsNoHugeFileOfTheEarlierAttempt) {
  const std::string keys[] = {
      std::string(kRunFileKey),      std::string(kClaimKey),
      std::string(kProgressKey),     collections_file_key("worker_0"),
      facts_file_key(0, "worker_0"), series_file_key({"worker_0", 0, 5, 1})};
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (const std::string& key : keys) {
    const std::string run = folder_.path("run of " + key.substr(0, 5));
    storage_ = *open_storage(run);
    train_until_killed(2, 1);
    ASSERT_TRUE(put_object(*storage_, key, "{"));
    std::filesystem::resize_file(run + "/" + key, std::uintmax_t{1} << 40);
    continue_after(0);
    auto session = open();
    train(*session, 2, 2);
    (void)session->close();
    // Steps that stay in place need a copy of these two.
    const bool is_copied = key.starts_with("coll") || key.starts_with("facts");
    EXPECT_EQ(session->status().error.has_value(), is_copied) << key;
    if (is_copied) {
      EXPECT_THAT(session->status().error->message, HasSubstr("too large"));
    }
  }
  getrusage(RUSAGE_SELF, &after);
  constexpr long kMegabyte = 1024;  // ru_maxrss is in KiB
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * kMegabyte);
}

TEST_F(AttemptStartTest, WritesNothingIntoARunThatCannotBeMoved) {
  class Immovable final : public ForwardingStorage {
   public:
    using ForwardingStorage::ForwardingStorage;
    Status move(std::string_view, std::string_view) override {
      return Error{Error::Code::io, "the disk is read-only"};
    }
  };
  train_until_killed(2, 1);
  const auto before = keys("");
  const auto run = storage_;
  storage_ = std::make_shared<Immovable>(run);
  auto session = open();
  train(*session, 2, 2);
  const Status closed = session->close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr("the disk is read-only"));
  storage_ = run;
  EXPECT_EQ(value_at(0), 1);
  EXPECT_EQ(value_at(1), 1);
}

// --- further workers ---

class LaterWorkerTest : public AttemptStartTest {
 protected:
  Result<bool> start_second_worker() {
    AttemptStart::Attempt attempt;
    attempt.is_first_worker = false;
    attempt.began_seconds = 500;
    return AttemptStart(storage_, attempt, clock_, log_).run();
  }

  void record_attempt(double started_seconds) {
    RunFile file;
    file.attempts.emplace_back().started_seconds = started_seconds;
    ASSERT_TRUE(put_object(*storage_, kRunFileKey, write_run_file(file)));
  }

  FakeClock clock_{1000};
};

TEST_F(LaterWorkerTest, WaitsUntilTheFirstWorkerHasMovedTheOldSteps) {
  train_until_killed(2, 1);
  record_attempt(400);
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 5) record_attempt(501);
  };
  EXPECT_THAT(start_second_worker(), IsOkAndHolds(false));
  EXPECT_EQ(clock_.sleeps(), 5);
  EXPECT_THAT(log_.text(), IsEmpty());
}

// Otherwise its first files would be moved with the old ones.
TEST_F(LaterWorkerTest, WaitsForTheFirstWorkerEvenWhenNoStepIsLeft) {
  record_attempt(400);
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 5) record_attempt(501);
  };
  ASSERT_TRUE(start_second_worker());
  EXPECT_EQ(clock_.sleeps(), 5);
}

TEST_F(LaterWorkerTest, WaitsForStepsOfARunWithoutARecordOfItsAttempts) {
  train_until_killed(2, 1);
  ASSERT_TRUE(storage_->remove(kRunFileKey));
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 5) record_attempt(501);
  };
  ASSERT_TRUE(start_second_worker());
  EXPECT_EQ(clock_.sleeps(), 5);
}

TEST_F(LaterWorkerTest, MovesNothingItself) {
  train_until_killed(2, 1);
  record_attempt(501);
  ASSERT_THAT(start_second_worker(), IsOkAndHolds(false));
  EXPECT_THAT(keys(kIndexPrefix), SizeIs(2));
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(LaterWorkerTest, DoesNotWaitInANewFolder) {
  ASSERT_THAT(start_second_worker(), IsOkAndHolds(false));
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(LaterWorkerTest, GivesUpWaitingForAFirstWorkerThatNeverComes) {
  train_until_killed(2, 1);
  record_attempt(400);
  EXPECT_THAT(start_second_worker(), IsOkAndHolds(true));
  EXPECT_EQ(clock_.monotonic(), AttemptStart::kLongestWait);
  EXPECT_THAT(log_.text(), HasSubstr("has not moved its steps within 30 s"));
}

// A supervisor starts the processes again within a second after the old ones
// began.
TEST_F(LaterWorkerTest, WaitsIfTheOldAttemptBeganShortlyBeforeItsProcess) {
  class CountedReads final : public ForwardingStorage {
   public:
    CountedReads(std::shared_ptr<Storage> inner, std::function<void()> on_third)
        : ForwardingStorage(std::move(inner)), on_third_(std::move(on_third)) {}
    Result<Bytes> read_whole(std::string_view key,
                             std::uint64_t max_bytes) const override {
      if (key == kRunFileKey && ++reads == 3) on_third_();
      return ForwardingStorage::read_whole(key, max_bytes);
    }
    mutable std::atomic<int> reads = 0;

   private:
    std::function<void()> on_third_;
  };
  train_until_killed(2, 1);
  const double began = *process_start_seconds(getpid());
  record_attempt(began - 0.1);
  const auto run = storage_;
  const auto counted =
      std::make_shared<CountedReads>(run, [&] { record_attempt(began + 0.1); });
  storage_ = counted;
  config_.include_workers = IncludeWorkers::all;
  auto session = open();
  session->set_worker(1, 2);
  session->begin_step();
  put(*session, "w", {2});
  ASSERT_TRUE(session->close());
  EXPECT_GE(counted->reads, 3);
  storage_ = run;
}

// If the process ends between the two, readers see the step as missing.
TEST_F(LaterWorkerTest, LeavesNoOldIndexFileBesideANewEventFile) {
  ASSERT_TRUE(put_object(*storage_, index_file_key(0, "worker_1"), "old"));
  const auto run = storage_;
  const auto full = std::make_shared<FaultyStorage>(run);
  full->fail_with("no space left", std::string(kIndexPrefix));
  storage_ = full;
  config_.include_workers = IncludeWorkers::all;
  auto session = open(clock_);
  session->set_worker(1, 2);
  train(*session, 1, 2);
  EXPECT_FALSE(session->close());
  storage_ = run;
  EXPECT_TRUE(is_there(event_file_key(0, "worker_1")));
  EXPECT_FALSE(is_there(index_file_key(0, "worker_1")));
}

TEST_F(AttemptStartTest, MovesTheStatisticsFileOfReplacedSteps) {
  train_until_killed(1001, 1);
  const std::string key = statistics_file_key({"worker_0", 1, 0, 999});
  ASSERT_TRUE(*storage_->exists(key));
  continue_after(499);
  train_to_the_end(100, 2);
  EXPECT_FALSE(*storage_->exists(key));
  EXPECT_TRUE(*storage_->exists(aside(key)));
  EXPECT_TRUE(
      *storage_->exists(statistics_file_key({"worker_0", 2, 500, 599})));
}

TEST_F(AttemptStartTest, RemovesAStatisticsFileWhoseStepsWereRemoved) {
  train_until_killed(1001, 1);
  const std::string key = statistics_file_key({"worker_0", 1, 0, 999});
  ASSERT_TRUE(*storage_->exists(key));
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    const auto listed = storage_->list(prefix);
    for (const ObjectEntry& object : *listed)
      ASSERT_TRUE(storage_->remove(object.key));
  }
  train_to_the_end(10, 2);
  EXPECT_FALSE(*storage_->exists(key));
}

}  // namespace
}  // namespace smdebug
