// A run that grows while it is read.

#include <functional>
#include <set>
#include <utility>

#include "format/facts_file.h"
#include "format/file_names.h"
#include "read/trial_testing.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LiveTest : public TrialTest {
 protected:
  LiveTest() {
    run_.put_collections("worker_0", 2);
    run_.put_collections("worker_1", 2);
  }

  void put_both(Step step) {
    put(step, 0);
    put(step, 1);
  }
};

TEST_F(LiveTest, SeesEachStepWhenItsLastWorkerHasWritten) {
  const auto trial = open();
  put(0, 0);
  EXPECT_THAT(trial->steps(), IsEmpty());
  EXPECT_THAT(trial->steps(Mode::global, true), ElementsAre(0));
  put(0, 1);
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_THAT(trial->steps(Mode::train), ElementsAre(0));
}

TEST_F(LiveTest, AnswersFromWhatItKnowsWhileRefreshingIsOff) {
  const auto trial = open();
  put_both(0);
  trial->set_refreshing(false);
  EXPECT_THAT(trial->steps(), IsEmpty());
  EXPECT_FALSE(trial->has_tensor("w"));
  ASSERT_TRUE(trial->refresh().ok());
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_FALSE(trial->is_refreshing());
}

TEST_F(LiveTest, FindsALateFileOfAStepThatWasGivenUp) {
  put_both(0);
  put(2, 0);
  put_both(4);
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2, 4));
  put(2, 1);
  EXPECT_EQ(trial->tensor("w")->workers(2, Mode::global)->size(), 2u);
}

TEST_F(LiveTest, EndsWithTheMarkerAndNeverLooksAgain) {
  put_both(0);
  put(2, 0);
  const auto trial = open();
  EXPECT_FALSE(trial->has_ended());
  EXPECT_EQ(trial->last_complete_step(), 0);
  run_.put_end_marker();
  EXPECT_TRUE(trial->has_ended());
  EXPECT_EQ(trial->last_complete_step(), 2);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2));
  put_both(4);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 2));
}

// Gives folders versions as a local disk does, and notes which objects are
// looked for.
class VersionedStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;

  Result<bool> exists(std::string_view key) const override {
    sought.emplace(key);
    return ForwardingStorage::exists(key);
  }
  std::optional<std::uint64_t> folder_version(
      std::string_view folder) const override {
    const auto objects = ForwardingStorage::list(folder, "");
    EXPECT_TRUE(objects.ok());
    std::set<std::string> entries;
    for (const ObjectEntry& object : *objects) {
      const std::string below = object.key.substr(folder.size());
      entries.insert(below.substr(0, below.find('/')));
    }
    return entries.empty() ? kNoFolder : entries.size();
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    if (before_listing) std::exchange(before_listing, nullptr)();
    return ForwardingStorage::list(prefix, after);
  }

  mutable std::set<std::string> sought;
  mutable std::function<void()> before_listing;  // called once
};

TEST_F(LiveTest, LooksForNewFilesOfTheRunOnlyIfItsFolderHasChanged) {
  put_both(0);
  const auto storage = std::make_shared<VersionedStorage>(storage_);
  const auto trial = *Trial::open(storage, options());
  storage->sought.clear();
  put_both(1);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1));
  EXPECT_THAT(storage->sought, IsEmpty()) << "a step is below 'index/'";
  run_.put_end_marker();
  EXPECT_TRUE(trial->has_ended());
}

TEST_F(LiveTest, KnowsTheFactsOfAStepThatAppearsDuringARefresh) {
  put_both(0);
  const auto storage = std::make_shared<VersionedStorage>(storage_);
  const auto trial = *Trial::open(storage, options());
  // After the version of the run's folder was read.
  storage->before_listing = [this] {
    RunFacts facts;
    facts.step = 1;
    run_.put(facts_file_key(1, "worker_0"), write_facts_file(facts));
    put_both(1);
  };
  put_both(2);
  EXPECT_THAT(trial->steps(), ElementsAre(0, 1, 2));
  EXPECT_EQ(trial->facts().size(), 1u);
}

TEST_F(LiveTest, GivesAWorkerThatIsLateAtTheEndItsTime) {
  put_both(0);
  put(2, 0);
  run_.put_end_marker();
  clock_.on_sleep = [&] { put(2, 1); };
  const auto trial = open();
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(1));
  EXPECT_EQ(trial->tensor("w")->workers(2, Mode::global)->size(), 2u);
}

TEST_F(LiveTest, DoesNotWaitAtTheEndWhenNobodyIsMissing) {
  put_both(0);
  run_.put_end_marker();
  EXPECT_TRUE(open()->has_ended());
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(LiveTest, WaitsForStepsThatAreStillToCome) {
  const auto trial = open();
  clock_.on_sleep = [&] {
    if (clock_.sleeps() == 3) put_both(0);
    if (clock_.sleeps() == 8) put_both(2);
  };
  const Step steps[] = {0, 2};
  EXPECT_TRUE(trial->wait_for_steps(steps, Mode::train).ok());
  EXPECT_EQ(clock_.monotonic(), std::chrono::milliseconds(800));
}

TEST_F(LiveTest, StopsWaitingForAStepThatWasPassedOver) {
  put_both(0);
  put_both(2);
  const Step steps[] = {1};
  const Status status = open()->wait_for_steps(steps);
  EXPECT_EQ(status.error().code, Error::Code::not_found);
  EXPECT_THAT(status.error().message, HasSubstr("step 1"));
}

TEST_F(LiveTest, SaysThatAStepThatHasNotComeIsNotDue) {
  StoredCollection every_tenth;
  every_tenth.tensors = {.name = "weights", .tensor_names = {"w"}};
  every_tenth.schedule.emplace();
  every_tenth.schedule->fill(ModeSchedule{.save_interval = 10});
  CollectionsFile file;
  file.num_workers = 1;
  file.collections = {every_tenth};
  ASSERT_TRUE(storage_->remove(collections_file_key("worker_1")).ok());
  run_.put(collections_file_key("worker_0"), write_collections_file(file));
  put(0);
  put(10);
  const auto trial = open();
  for (const Mode mode : {Mode::global, Mode::train}) {
    const Error missing = trial->tensor("w")->value({13, mode}).error();
    EXPECT_EQ(missing.code, Error::Code::not_yet);
    EXPECT_THAT(
        missing.message,
        HasSubstr(
            "the step is not due, and was not written: "
            "collection 'weights' is saved every 10 steps; previously at 10, "
            "next at 20"));
  }
  EXPECT_THAT(trial->tensor("w")->value({20}).error().message,
              HasSubstr("the step has not been written yet"));
}

TEST_F(LiveTest, StopsWaitingWhenTheRunEnds) {
  put_both(0);
  const auto trial = open();
  clock_.on_sleep = [&] { run_.put_end_marker(); };
  const Step steps[] = {5};
  const Status status = trial->wait_for_steps(steps);
  EXPECT_EQ(status.error().code, Error::Code::not_found);
  EXPECT_THAT(status.error().message, HasSubstr("has ended"));
}

TEST_F(LiveTest, StopsWaitingWhenItsTimeIsOverAndHasSaidSo) {
  const auto trial = open();
  const Step steps[] = {0};
  const Status status =
      trial->wait_for_steps(steps, Mode::train, std::chrono::seconds(15));
  EXPECT_EQ(status.error().code, Error::Code::not_yet);
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(15));
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_THAT(log_.lines()[0], HasSubstr("TRAIN step 0"));
}

TEST_F(LiveTest, CountsTheTimeoutForAllStepsTogether) {
  const auto trial = open();
  clock_.on_sleep = [&] {
    if (clock_.monotonic() == std::chrono::seconds(3)) put_both(0);
  };
  const Step steps[] = {0, 2};
  const Status status =
      trial->wait_for_steps(steps, Mode::train, std::chrono::seconds(5));
  EXPECT_EQ(status.error().code, Error::Code::not_yet);
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(5));
}

// Asks to stop once the clock has reached 300 ms.
class InterruptTest : public LiveTest {
 protected:
  TrialOptions interrupted() {
    TrialOptions options = this->options();
    options.timeout = std::nullopt;
    options.check_interrupt = [this] {
      return clock_.monotonic() >= std::chrono::milliseconds(300);
    };
    return options;
  }

  void expect_interrupted(const Status& status) {
    EXPECT_EQ(status.error().code, Error::Code::interrupted);
    EXPECT_EQ(clock_.monotonic(), std::chrono::milliseconds(300));
  }
};

TEST_F(InterruptTest, EndsAWaitForARun) {
  ASSERT_TRUE(storage_->remove(collections_file_key("worker_1")).ok());
  auto trial = Trial::open(storage_, interrupted());
  ASSERT_FALSE(trial.ok());
  expect_interrupted(std::move(trial).error());
}

TEST_F(InterruptTest, EndsAWaitForAStep) {
  const auto trial = open(interrupted());
  const Step steps[] = {0};
  expect_interrupted(trial->wait_for_steps(steps));
}

TEST_F(InterruptTest, EndsAWaitForAnEventFile) {
  put_both(0);
  const auto trial = open(interrupted());
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  auto value = trial->tensor("w")->value({0});
  ASSERT_FALSE(value.ok());
  expect_interrupted(std::move(value).error());
}

TEST_F(InterruptTest, DoesNotEndTheDelayOfAQueryThatCannotFail) {
  put_both(0);
  put(2, 0);
  const auto trial = open(interrupted());
  run_.put_end_marker();
  EXPECT_TRUE(trial->has_ended());
  EXPECT_EQ(clock_.monotonic(), std::chrono::seconds(1));
}

}  // namespace
}  // namespace smdebug
