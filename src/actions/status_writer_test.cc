#include "smdebug/actions/status_writer.h"

#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/store/bounded_storage.h"
#include "smdebug/store/open_storage.h"

#include "actions/action_testing.h"
#include "base/result_matchers_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/fork_testing.h"
#include "tests/support/hanging_storage_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StatusWriterTest : public testing::Test {
 protected:
  StatusWriterTest() {
    storage_ = *open_storage(
        "memory://status-writer-" +
        std::string(
            testing::UnitTest::GetInstance()->current_test_info()->name()));
    verdicts_.resize(2);
    verdicts_[0].rule = "VanishingGradient";
    verdicts_[1].rule = "AllZero";
  }

  RuleWatchOptions options() {
    RuleWatchOptions options;
    options.storage = storage_;
    options.rules = {"VanishingGradient", "AllZero"};
    options.clock = &clock_;
    options.say = [this](const std::string& text) { said_.push_back(text); };
    return options;
  }

  // "AllZero InProgress", by key.
  std::vector<std::string> statuses() const {
    const auto recorded = read_recorded_statuses(*storage_);
    EXPECT_THAT(recorded, IsOk());
    std::vector<std::string> statuses;
    for (const RecordedStatus& one : *recorded) {
      statuses.push_back(one.key + " " + one.status);
    }
    return statuses;
  }

  std::shared_ptr<Storage> storage_;
  FakeClock clock_{kStartSeconds};
  std::vector<std::string> said_;
  std::vector<Verdict> verdicts_;
};

TEST_F(StatusWriterTest, TouchesNothingBeforeTheFirstStep) {
  { StatusWriter writer(options()); }
  EXPECT_THAT(*storage_->list(""), IsEmpty());
}

TEST_F(StatusWriterTest, LeavesTheLastStatusOfEachRule) {
  StatusWriter writer(options());
  writer.update(verdicts_, {});
  verdicts_[0] = fired_verdict();
  writer.update(verdicts_, {});
  verdicts_[1].status = RuleStatus::no_issues_found;
  writer.finish(verdicts_, {});
  EXPECT_THAT(statuses(), ElementsAre("AllZero NoIssuesFound",
                                      "VanishingGradient IssuesFound"));
  EXPECT_THAT(*storage_->list("rules/AllZero/"), IsEmpty());  // let go
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(StatusWriterTest, WritesWhileNothingChangesOnlyNowAndThen) {
  StatusWriter writer(options());
  const auto last_written = [this] {
    const auto statuses = *read_recorded_statuses(*storage_);
    return statuses.size() == 2 ? statuses[1].last_step : -1;
  };
  WatchProgress progress;
  for (Step step = 0; step < 5; ++step) {
    progress.last_fed = step;
    writer.update(verdicts_, progress);
    while (last_written() < 0) std::this_thread::yield();
    clock_.sleep_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(last_written(), 0);
  progress.last_fed = 5;  // 5 s later
  writer.update(verdicts_, progress);
  while (last_written() == 0) std::this_thread::yield();
  EXPECT_EQ(last_written(), 5);
  progress.last_fed = 6;
  writer.finish(verdicts_, progress);
  EXPECT_EQ(last_written(), 6);
}

TEST_F(StatusWriterTest, NamesAWorkerThatIsNotTheFirst) {
  RuleWatchOptions second = options();
  second.worker = "worker_1";
  StatusWriter writer(options()), writer_1(std::move(second));
  writer.update(verdicts_, {});
  writer_1.update(verdicts_, {});
  verdicts_[0] = fired_verdict();
  writer_1.finish(verdicts_, {});
  verdicts_[0] = {};
  verdicts_[0].rule = "VanishingGradient";
  writer.finish(verdicts_, {});
  EXPECT_THAT(statuses(),
              ElementsAre("AllZero InProgress", "AllZero_worker_1 InProgress",
                          "VanishingGradient InProgress",
                          "VanishingGradient_worker_1 IssuesFound"));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(StatusWriterTest, NamesADeviceAsEventFilesDo) {
  RuleWatchOptions second = options();
  second.worker = "/job:localhost/replica:0/task:0/device:GPU:1";
  StatusWriter writer(std::move(second));
  writer.finish(verdicts_, {});
  EXPECT_THAT(
      statuses(),
      ElementsAre("AllZero_"
                  "_job-localhost_replica-0_task-0_device-GPU-1 InProgress",
                  "VanishingGradient_"
                  "_job-localhost_replica-0_task-0_device-GPU-1 InProgress"));
}

TEST_F(StatusWriterTest, SecondOneLeavesTheStatusToTheFirst) {
  StatusWriter first(options());
  first.update(verdicts_, {});
  while (statuses().size() < 2) std::this_thread::yield();
  StatusWriter second(options());
  std::vector<Verdict> others = verdicts_;
  others[0] = fired_verdict();
  second.update(others, {});
  second.finish(others, {});
  EXPECT_THAT(statuses(), ElementsAre("AllZero InProgress",
                                      "VanishingGradient InProgress"));
  // One sentence for both rules.
  EXPECT_THAT(said_, ElementsAre(HasSubstr("VanishingGradient, AllZero")));
  first.finish(verdicts_, {});
}

TEST_F(StatusWriterTest, ChildOfAForkWritesNothingAndEnds) {
  storage_ = *open_storage(testing::TempDir() + "/status-writer-fork-" +
                           std::to_string(::getpid()));
  auto writer = std::make_unique<StatusWriter>(options());
  writer->update(verdicts_, {});
  while (statuses().size() < 2) std::this_thread::yield();
  const pid_t child = fork_when_others_sleep();
  ASSERT_GE(child, 0);
  if (child == 0) {
    verdicts_[0] = fired_verdict();
    writer->update(verdicts_, {});
    writer->finish(verdicts_, {});
    writer.reset();
    ::_exit(7);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 7);
  EXPECT_THAT(statuses(), ElementsAre("AllZero InProgress",
                                      "VanishingGradient InProgress"));
}

// Makes every kind of call that a status needs.
class HangingStatusTest : public StatusWriterTest,
                          public testing::WithParamInterface<StorageCall> {};

TEST_P(HangingStatusTest, EndsAndReportsItOnceIfTheStorageDoesNotRespond) {
  const auto hanging = std::make_shared<HangingStorage>(storage_);
  hanging->hang_at(GetParam());
  RuleWatchOptions of_hanging = options();
  of_hanging.storage =
      bounded_storage(hanging, {std::chrono::milliseconds(1), nullptr});
  StatusWriter writer(std::move(of_hanging));
  writer.update(verdicts_, {});
  verdicts_[0] = fired_verdict();
  writer.finish(verdicts_, {});
  EXPECT_TRUE(hanging->has_hung());
  EXPECT_THAT(said_,
              ElementsAre(AllOf(HasSubstr("'rules/"),
                                HasSubstr("not responded for 0.001 s"))));
  hanging->release();
  hanging->wait_for_release();
}

INSTANTIATE_TEST_SUITE_P(Each, HangingStatusTest,
                         testing::Values(StorageCall::create,
                                         StorageCall::append,
                                         StorageCall::commit,
                                         StorageCall::create_exclusive,
                                         StorageCall::remove));

}  // namespace
}  // namespace smdebug
