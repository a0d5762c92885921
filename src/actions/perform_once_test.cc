#include "smdebug/actions/perform_once.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/store/open_storage.h"

#include "actions/action_testing.h"
#include "base/background_tasks.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CountingAction : public Action {
 public:
  explicit CountingAction(std::string target = "http://h/secret")
      : Action({ActionKind::webhook, std::move(target)}) {}

  Result<std::string> perform(const Alert&) override {
    ++count;
    if (fails) return Error{Error::Code::io, "nobody answers"};
    return std::string("told");
  }

  std::atomic<int> count = 0;
  bool fails = false;
};

class PerformOnceTest : public testing::Test {
 protected:
  PerformOnceTest() {
    auto opened = open_storage(
        "memory://perform-once-" +
        std::string(
            testing::UnitTest::GetInstance()->current_test_info()->name()));
    storage_ = *opened;
    place_ = {storage_.get(), "VanishingGradient", 1, &clock_};
  }

  ActionResult perform() {
    return perform_once(action_, fired_alert(), place_);
  }

  std::shared_ptr<Storage> storage_;
  FakeClock clock_{kStartSeconds};
  CountingAction action_;
  RecordPlace place_;
};

TEST_F(PerformOnceTest, DoesItOnceAndSaysSoTheSecondTime) {
  const ActionResult first = perform();
  EXPECT_EQ(first.status, ActionStatus::done);
  EXPECT_EQ(first.message, "told");
  EXPECT_EQ(first.target, "http://h/…");
  const ActionResult second = perform();
  EXPECT_EQ(second.status, ActionStatus::not_repeated);
  EXPECT_THAT(second.message,
              AllOf(HasSubstr("performed it at 2015-08-30T12:36:00Z"),
                    HasSubstr("rules/VanishingGradient/attempt-1_webhook_"),
                    HasSubstr("to repeat it")));
  EXPECT_EQ(action_.count, 1);
}

TEST_F(PerformOnceTest, TriesAgainWhatFailed) {
  action_.fails = true;
  EXPECT_EQ(perform().status, ActionStatus::failed);
  action_.fails = false;
  EXPECT_EQ(perform().status, ActionStatus::done);
  EXPECT_EQ(action_.count, 2);
}

TEST_F(PerformOnceTest, CountsRulesTargetsAndAttemptsApart) {
  (void)perform();
  place_.attempt = 2;
  EXPECT_EQ(perform().status, ActionStatus::done);
  place_.rule = "AllZero";
  EXPECT_EQ(perform().status, ActionStatus::done);
  CountingAction other("http://h/other");
  EXPECT_EQ(perform_once(other, fired_alert(), place_).status,
            ActionStatus::done);
}

TEST_F(PerformOnceTest, DoesNotRepeatWhatAProcessBeganThatDied) {
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  ProcessMark mark = ProcessMark::of_this_process();
  mark.process_id = child;
  (void)perform();
  const auto entries = storage_->list("rules/");
  ASSERT_THAT(entries, IsOk());
  ASSERT_EQ(entries->size(), 1u);
  const std::string record =
      Json(Json::Object{
               {"status", "begun"}, {"time", "then"}, {"by", mark.json()}})
          .dump();
  ASSERT_THAT(put_object(*storage_, entries->front().key, record), IsOk());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const ActionResult result = perform();
  EXPECT_EQ(result.status, ActionStatus::not_repeated);
  EXPECT_THAT(result.message, HasSubstr("it may have been performed"));
  EXPECT_EQ(action_.count, 1);
}

TEST_F(PerformOnceTest, DoesItOnceForManyAtTheSameTime) {
  std::atomic<int> done = 0;
  {
    BackgroundTasks tasks;
    for (int i = 0; i < 16; ++i) {
      tasks.start([&] { done += perform().status == ActionStatus::done; });
    }
  }
  EXPECT_EQ(done, 1);
  EXPECT_EQ(action_.count, 1);
}

// A storage that takes nothing.
TEST_F(PerformOnceTest, ActsWhereNoRecordCanBeKeptAndSaysSo) {
  auto opened = open_storage("/proc/smdebug-no-such-place");
  ASSERT_THAT(opened, IsOk());
  place_.storage = opened->get();
  const ActionResult result = perform();
  EXPECT_EQ(result.status, ActionStatus::done);
  EXPECT_THAT(result.message, HasSubstr("cannot be recorded"));
  place_.storage = nullptr;
  EXPECT_EQ(perform().message, "told");
}

TEST(RuleKey, IsAPlainNameOfItsOwn) {
  EXPECT_EQ(rule_key("VanishingGradient", 0), "VanishingGradient");
  EXPECT_EQ(rule_key("VanishingGradient", 1), "VanishingGradient_2");
  EXPECT_EQ(rule_key("../a b", 0), "___a_b");
}

}  // namespace
}  // namespace smdebug
