#include "smdebug/actions/rule_watch.h"

#include <atomic>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "smdebug/store/open_storage.h"

#include "actions/action_testing.h"
#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "net/scripted_http_testing.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class TestAction : public Action {
 public:
  TestAction(ActionRequest request,
             std::function<Result<std::string>(const Alert&)> perform)
      : Action(std::move(request)), perform_(std::move(perform)) {}

  Result<std::string> perform(const Alert& alert) override {
    return perform_(alert);
  }

 private:
  std::function<Result<std::string>(const Alert&)> perform_;
};

std::shared_ptr<Action> telling(std::atomic<int>& count,
                                const std::string& target = "http://h/") {
  return std::make_shared<TestAction>(
      ActionRequest{ActionKind::webhook, target},
      [&count](const Alert&) -> Result<std::string> {
        ++count;
        return std::string("told");
      });
}

class RuleWatchTest : public testing::Test {
 protected:
  RuleWatchTest() {
    storage_ = *open_storage(
        "memory://rule-watch-" +
        std::string(
            testing::UnitTest::GetInstance()->current_test_info()->name()));
    verdicts_.resize(2);
    verdicts_[0].rule = "VanishingGradient";
    verdicts_[1].rule = "AllZero";
  }

  RuleWatchOptions options(std::vector<std::shared_ptr<Action>> actions = {}) {
    RuleWatchOptions options;
    options.storage = storage_;
    options.rules = {"VanishingGradient", "AllZero"};
    options.actions = std::move(actions);
    options.attempt = 1;
    options.clock = &clock_;
    options.say = [this](const std::string& text) { said_.push_back(text); };
    return options;
  }

  Json status(const std::string& rule) const {
    const auto bytes = get_object(*storage_, "rules/" + rule + ".json");
    EXPECT_THAT(bytes, IsOk());
    const auto json = bytes ? Json::parse(bytes->text()) : Json();
    return json ? *json : Json();
  }
  std::string status_name(const std::string& rule) const {
    return status(rule).string_at("status").ok()
               ? *status(rule).string_at("status")
               : "";
  }
  std::vector<std::string> keys(const std::string& prefix) const {
    std::vector<std::string> keys;
    const auto entries = storage_->list(prefix);
    EXPECT_THAT(entries, IsOk());
    for (const ObjectEntry& entry : *entries) keys.push_back(entry.key);
    return keys;
  }

  std::shared_ptr<Storage> storage_;
  FakeClock clock_{kStartSeconds};
  std::vector<std::string> said_;
  std::vector<Verdict> verdicts_;
};

TEST_F(RuleWatchTest, KeepsAStatusFilePerRule) {
  RuleWatch watch(options());
  EXPECT_EQ(status_name("VanishingGradient"), "InProgress");
  EXPECT_EQ(status_name("AllZero"), "InProgress");
  verdicts_[0] = fired_verdict();
  verdicts_[0].severity = Severity::serious;
  WatchProgress progress;
  progress.steps_fed = 9;
  progress.last_fed = 8;
  progress.last_known = 11;
  watch.update(verdicts_, progress);
  const Json json = status("VanishingGradient");
  EXPECT_THAT(json.string_at("status"), IsOkAndHolds("IssuesFound"));
  EXPECT_THAT(json.string_at("status_details"),
              IsOkAndHolds(StartsWith("RuleEvaluationConditionMet:")));
  EXPECT_THAT(json.string_at("last_modified"),
              IsOkAndHolds("2015-08-30T12:36:00Z"));
  EXPECT_THAT(json.find("steps")->int_at("judged"), IsOkAndHolds(7));
  EXPECT_THAT(json.find("steps")->int_at("skipped"), IsOkAndHolds(2));
  EXPECT_THAT(json.find("steps")->int_at("last"), IsOkAndHolds(8));
  EXPECT_THAT(json.int_at("lag_steps"), IsOkAndHolds(3));
  EXPECT_THAT(*json.find("verdict")->find("evidence")->as_array(), SizeIs(1));
  EXPECT_THAT(json.find("verdict")->string_at("severity"),
              IsOkAndHolds("serious"));
  EXPECT_EQ(status_name("AllZero"), "InProgress");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RuleWatchTest, MarksTheStepOnWhichARuleFiredFirst) {
  RuleWatch watch(options());
  watch.update(verdicts_, {});
  EXPECT_THAT(keys("rules/fired/"), IsEmpty());
  verdicts_[0] = fired_verdict();
  verdicts_[0].step.global = 40;
  verdicts_[1].status = RuleStatus::no_issues_found;
  watch.update(verdicts_, {});
  watch.finish();
  ASSERT_THAT(keys("rules/fired/"),
              ElementsAre("rules/fired/000000000040_VanishingGradient.json"));
  EXPECT_EQ(
      get_object(*storage_, "rules/fired/000000000040_VanishingGradient.json")
          ->text(),
      R"({"version": 1, "rule": "VanishingGradient", "step": 40})");
}

TEST_F(RuleWatchTest, MarksNoStepOfARuleThatFiredWithoutOne) {
  RuleWatch watch(options());
  verdicts_[0] = fired_verdict();
  verdicts_[0].step.global = -1;  // a training that hangs before its first
  watch.update(verdicts_, {});
  EXPECT_THAT(keys("rules/fired/"), IsEmpty());
}

TEST_F(RuleWatchTest, LeavesTheMarksToTheWatchThatHasTheRule) {
  RuleWatch first(options());
  RuleWatch second(options());
  verdicts_[0] = fired_verdict();
  second.update(verdicts_, {});
  EXPECT_THAT(keys("rules/fired/"), IsEmpty());
}

TEST_F(RuleWatchTest, NamesTheRulesOfAnotherWatchOnOneLine) {
  RuleWatch first(options());
  EXPECT_THAT(said_, IsEmpty());
  RuleWatch second(options());
  EXPECT_THAT(
      said_,
      ElementsAre(AllOf(
          HasSubstr("' is already watched by process "),
          HasSubstr(", with VanishingGradient, AllZero: this process also "
                    "evaluates these rules but will not write the status or "
                    "repeat the actions; remove 'rules/<rule>/watcher.json' if "
                    "that process has exited"))));
}

TEST_F(RuleWatchTest, WritesAnEventForEachChange) {
  RuleWatch watch(options());
  watch.update(verdicts_, {});
  verdicts_[1].status = RuleStatus::no_issues_found;
  watch.update(verdicts_, {});
  watch.update(verdicts_, {});
  EXPECT_THAT(
      keys("rules/events/"),
      ElementsAre("rules/events/001440938160000_AllZero_InProgress.json",
                  "rules/events/001440938160000_AllZero_NoIssuesFound.json",
                  "rules/events/001440938160000_VanishingGradient_InProgress."
                  "json"));
}

TEST_F(RuleWatchTest, ActsOnceForAVerdictAndKeepsTheResult) {
  std::atomic<int> count = 0;
  RuleWatch watch(options({telling(count)}));
  watch.update(verdicts_, {});
  EXPECT_EQ(count, 0);
  verdicts_[0] = fired_verdict();
  watch.update(verdicts_, {});
  watch.update(verdicts_, {});
  watch.finish();
  EXPECT_EQ(count, 1);
  ASSERT_THAT(watch.results(), SizeIs(1));
  EXPECT_EQ(watch.results()[0].status, ActionStatus::done);
  const Json json = status("VanishingGradient");
  const Json& result = json.find("actions")->as_array()->at(0);
  EXPECT_THAT(result.string_at("message"), IsOkAndHolds("told"));
  EXPECT_THAT(*status("AllZero").find("actions")->as_array(), IsEmpty());
}

TEST_F(RuleWatchTest, JudgesOnWhileAnActionHangs) {
  std::latch released(1);
  std::atomic<int> count = 0;
  const auto hangs = std::make_shared<TestAction>(
      ActionRequest{ActionKind::command, "hang"},
      [&](const Alert&) -> Result<std::string> {
        released.wait();
        return Error{Error::Code::unavailable, "it hung"};
      });
  RuleWatch watch(options({hangs, telling(count)}));
  verdicts_[0] = fired_verdict();
  watch.update(verdicts_, {});
  verdicts_[1].status = RuleStatus::no_issues_found;
  watch.update(verdicts_, {});  // comes back although the first one hangs
  EXPECT_EQ(status_name("AllZero"), "NoIssuesFound");
  EXPECT_EQ(watch.results().at(0).status, ActionStatus::begun);
  released.count_down();
  watch.finish();
  EXPECT_EQ(watch.results().at(0).status, ActionStatus::failed);
  EXPECT_EQ(watch.results().at(1).status, ActionStatus::done);
  EXPECT_EQ(count, 1);
}

TEST_F(RuleWatchTest, StopsBeforeItGoesOn) {
  bool was_stopped = false;
  const auto stop =
      std::make_shared<TestAction>(ActionRequest{ActionKind::stop, ""},
                                   [&](const Alert&) -> Result<std::string> {
                                     was_stopped = true;
                                     return std::string("stopped");
                                   });
  RuleWatch watch(options({stop}));
  verdicts_[0] = fired_verdict();
  watch.update(verdicts_, {});
  EXPECT_TRUE(was_stopped);
}

TEST_F(RuleWatchTest, SecondOneSaysSoAndDoesNotActTwice) {
  std::atomic<int> first_count = 0, second_count = 0, other_count = 0;
  RuleWatch first(options({telling(first_count)}));
  RuleWatchOptions second_options =
      options({telling(second_count), telling(other_count, "http://other/")});
  second_options.rules = {"VanishingGradient"};
  RuleWatch second(std::move(second_options));
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0],
              AllOf(HasSubstr("VanishingGradient"),
                    HasSubstr("process " + std::to_string(::getpid())),
                    HasSubstr("already"),
                    HasSubstr("rules/VanishingGradient/watcher.json")));
  verdicts_[0] = fired_verdict();
  first.update(verdicts_, {});
  first.finish();
  second.update(verdicts_, {});
  second.finish();
  EXPECT_EQ(first_count + second_count, 1);
  EXPECT_EQ(other_count, 1);
  EXPECT_EQ(second.results().at(0).status, ActionStatus::not_repeated);
  EXPECT_THAT(keys("rules/VanishingGradient/watcher.json"), IsEmpty());
}

TEST_F(RuleWatchTest, TakesOverFromOneThatDied) {
  ASSERT_THAT(put_object(*storage_, "rules/AllZero/watcher.json",
                         std::string_view("what is no mark")),
              IsOk());
  RuleWatch watch(options());
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(status_name("AllZero"), "InProgress");
}

TEST_F(RuleWatchTest, GoesFromStoppingToStopped) {
  RuleWatch watch(options());
  watch.say_stopping();
  EXPECT_EQ(status_name("AllZero"), "Stopping");
  watch.update(verdicts_, {});
  EXPECT_EQ(status_name("AllZero"), "Stopping");
  for (Verdict& verdict : verdicts_) verdict.status = RuleStatus::stopped;
  watch.update(verdicts_, {});
  EXPECT_EQ(status_name("AllZero"), "Stopped");
}

TEST_F(RuleWatchTest, DoesNotMakeARunAnewThatWasRemoved) {
  RuleWatch watch(options());
  for (const std::string& key : keys("")) {
    ASSERT_THAT(storage_->remove(key), IsOk());
  }
  watch.forget_run();
  verdicts_[0] = fired_verdict();
  watch.update(verdicts_, {});
  watch.finish();
  EXPECT_THAT(keys(""), IsEmpty());
}

TEST_F(RuleWatchTest, SaysOnceThatNothingCanBeWritten) {
  std::atomic<int> count = 0;
  RuleWatchOptions nowhere = options({telling(count)});
  nowhere.storage = *open_storage("/proc/smdebug-no-such-place");
  RuleWatch watch(std::move(nowhere));
  verdicts_[0] = fired_verdict();
  watch.update(verdicts_, {});
  watch.finish();
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("the status of the rules beside run"));
  EXPECT_EQ(count, 1);
}

TEST_F(RuleWatchTest, TellsTwoRulesOfOneNameApart) {
  RuleWatchOptions twice = options();
  twice.rules = {"AllZero", "AllZero"};
  RuleWatch watch(std::move(twice));
  verdicts_[0].rule = "AllZero";
  verdicts_[1].status = RuleStatus::error;
  watch.update(verdicts_, {});
  EXPECT_EQ(status_name("AllZero"), "InProgress");
  EXPECT_EQ(status_name("AllZero_2"), "Error");
}

TEST(StopSignal, IsAFile) {
  const ScopedVariable none("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE", nullptr);
  EXPECT_FALSE(is_told_to_stop());
  const ScopedVariable missing("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE",
                               "/proc/no such file");
  EXPECT_FALSE(is_told_to_stop());
  const ScopedVariable there("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE",
                             "/proc/stat");
  EXPECT_TRUE(is_told_to_stop());
}

}  // namespace
}  // namespace smdebug
