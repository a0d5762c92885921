#include "smdebug/monitor/run_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/rules_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recorded_run_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using StatusFiles = RunMonitorOptions::StatusFiles;

std::unique_ptr<RunMonitor> monitor_of(const std::string& location,
                                       RunMonitorOptions options = {}) {
  return *RunMonitor::create(location, rules("VanishingGradient"),
                             std::move(options));
}

bool exists(const TemporaryFolder& folder, const std::string& name) {
  return std::filesystem::exists(folder.path(name));
}

TEST(RunMonitor, JudgesARunThatHasEnded) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  const auto monitor = monitor_of(folder.path("run"));
  EXPECT_EQ(*monitor->poll(), 10u);
  EXPECT_EQ(*monitor->poll(), 0u);
  const MonitorResult& result = monitor->finish("Completed");
  EXPECT_EQ(result.location, folder.path("run"));
  EXPECT_EQ(result.steps, 10u);
  ASSERT_EQ(result.verdicts.size(), 1u);
  EXPECT_EQ(result.verdicts[0].status, RuleStatus::issues_found);
  EXPECT_EQ(result.verdicts[0].step.global, 6);
  EXPECT_FALSE(result.error);
  EXPECT_EQ(&monitor->finish("Failed"), &result);
}

TEST(RunMonitor, WritesNothingBesideARunUnlessAsked) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  const auto monitor = monitor_of(folder.path("run"));
  EXPECT_TRUE(monitor->poll().ok());
  monitor->finish("Completed");
  EXPECT_FALSE(exists(folder, "run/rules"));
}

TEST(RunMonitor, JudgesARunThatAppearsLaterAndGrows) {
  TemporaryFolder folder;
  const auto monitor = monitor_of(folder.path("run"));
  EXPECT_EQ(*monitor->poll(), 0u);
  EXPECT_EQ(monitor->trial(), nullptr);
  record_run(folder.path("run"), kHealthy, /*ends=*/true, [&] {
    // The tenth step may still grow until the run ends.
    EXPECT_GE(*monitor->poll(), 9u);
    EXPECT_NE(monitor->trial(), nullptr);
    EXPECT_TRUE(monitor->is_judging());
  });
  EXPECT_TRUE(monitor->poll().ok());
  EXPECT_EQ(monitor->finish("Completed").verdicts[0].status,
            RuleStatus::no_issues_found);
}

// A training that is started again in the folder of one that was killed.
class RestartedRun : public testing::Test {
 protected:
  RestartedRun() {
    record_run(folder_.path("run"), kVanishing, /*ends=*/false);
    std::filesystem::remove(folder_.path("run/claim.smd"));
  }

  void restart() { record_run(folder_.path("run"), kHealthy); }

  TemporaryFolder folder_;
  std::vector<std::string> messages_;
  RunMonitorOptions options_ = {.on_message = [this](const std::string& text) {
    messages_.push_back(text);
  }};
};

TEST_F(RestartedRun, IsJudgedByTheStepsOfTheNewestAttempt) {
  restart();
  const auto monitor = monitor_of(folder_.path("run"), options_);
  EXPECT_EQ(*monitor->poll(), 10u);
  EXPECT_EQ(monitor->finish("Completed").verdicts[0].status,
            RuleStatus::no_issues_found);
  const auto earlier = monitor_of(folder_.path("run/attempts/1"));
  EXPECT_EQ(*earlier->poll(), 10u);
  EXPECT_EQ(earlier->finish("Failed").verdicts[0].status,
            RuleStatus::issues_found);
}

TEST_F(RestartedRun, IsJudgedByNewRulesWhileItIsWatched) {
  options_.make_rules = [] { return Result(rules("VanishingGradient")); };
  const auto monitor = monitor_of(folder_.path("run"), options_);
  EXPECT_GE(*monitor->poll(), 9u);
  EXPECT_EQ(monitor->verdicts()[0].status, RuleStatus::issues_found);
  restart();
  EXPECT_TRUE(monitor->poll().ok());
  const MonitorResult& result = monitor->finish("Completed");
  EXPECT_EQ(result.verdicts[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(result.steps, 10u);
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("attempt 2 is judged")));
}

TEST(RunMonitor, NamesTheRunThatNeverCame) {
  TemporaryFolder folder;
  const auto monitor = monitor_of(folder.path("run"));
  EXPECT_EQ(*monitor->poll(), 0u);
  const MonitorResult& result = monitor->finish("Failed");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code, Error::Code::not_found);
  EXPECT_THAT(result.error->message, HasSubstr(folder.path("run")));
  EXPECT_EQ(result.verdicts[0].status, RuleStatus::error);
}

TEST(RunMonitor, FeedsTheRunsThatARuleComparesWith) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kHealthy);
  record_run(folder.path("b"), kHealthy);
  record_run(folder.path("c"), kVanishing);
  const auto verdict_against = [&](const std::string& other) {
    auto monitor = *RunMonitor::create(
        folder.path("a"),
        rules("SimilarAcrossRuns", {{"other_trials", folder.path(other)}}));
    EXPECT_TRUE(monitor->poll().ok());
    return monitor->finish("Completed").verdicts[0];
  };
  const Verdict same = verdict_against("b");
  EXPECT_EQ(same.status, RuleStatus::no_issues_found) << same.message;
  EXPECT_EQ(same.observations_judged, 20u);
  const Verdict different = verdict_against("c");
  EXPECT_EQ(different.status, RuleStatus::issues_found) << different.message;
  EXPECT_EQ(different.step.global, 6);
}

TEST(RunMonitor, RefusesARunToCompareWithThatDoesNotExist) {
  TemporaryFolder folder;
  const auto monitor = RunMonitor::create(
      folder.path("a"),
      rules("SimilarAcrossRuns", {{"other_trials", folder.path("b")}}));
  ASSERT_FALSE(monitor.ok());
  EXPECT_EQ(monitor.error().code, Error::Code::not_found);
  EXPECT_THAT(monitor.error().message, HasSubstr("a run to compare with"));
}

TEST(RunMonitor, SkipsStepsBeforeTheFirst) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  RunMonitorOptions options;
  options.first_step = 2;
  const auto monitor = monitor_of(folder.path("run"), std::move(options));
  monitor->skip_to(8);
  monitor->skip_to(4);  // never back
  EXPECT_EQ(*monitor->poll(), 2u);
  EXPECT_EQ(monitor->verdicts()[0].step.global, 8);
}

TEST(RunMonitor, AnnouncesAVerdictOnceAndBeforeItsActions) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  std::vector<std::string> events;
  RunMonitorOptions options;
  options.status_files = StatusFiles::by_caller;
  options.actions = {{ActionKind::stop, ""}};
  options.stop_training = [&]() -> Result<StopOutcome> {
    events.push_back("stop");
    return StopOutcome::ended;
  };
  options.on_verdict = [&](const Verdict& verdict) {
    events.push_back(verdict.rule);
  };
  const auto monitor = monitor_of(folder.path("run"), std::move(options));
  EXPECT_TRUE(monitor->poll().ok());
  EXPECT_TRUE(monitor->poll().ok());
  const MonitorResult& result = monitor->finish("Stopped");
  EXPECT_THAT(events, ElementsAre("VanishingGradient", "stop"));
  ASSERT_EQ(result.actions.size(), 1u);
  EXPECT_EQ(result.actions[0].status, ActionStatus::done);
  EXPECT_TRUE(exists(folder, "run/rules/VanishingGradient.json"));
}

TEST(RunMonitor, StopsATrainingThatHangsBeforeItsFirstStep) {
  TemporaryFolder folder;
  FakeClock clock(1e9);
  int stops = 0;
  RunMonitorOptions options;
  options.status_files = StatusFiles::by_caller;
  options.is_live = true;
  options.clock = &clock;
  options.stop_training = [&]() -> Result<StopOutcome> {
    ++stops;
    return StopOutcome::ended;
  };
  const auto monitor = *RunMonitor::create(
      folder.path("run"),
      rules("StalledTrainingRule",
            {{"threshold", "60"}, {"stop_training_on_fire", "true"}}),
      std::move(options));
  EXPECT_TRUE(monitor->poll().ok());
  clock.advance(std::chrono::seconds(61));
  EXPECT_TRUE(monitor->poll().ok());
  EXPECT_EQ(stops, 1);
  EXPECT_THAT(monitor->finish("Stopped").actions, testing::SizeIs(1));
  EXPECT_FALSE(exists(folder, "run"));
}

TEST(RunMonitor, StopsALiveTrainingForARuleThatWasAskedTo) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy, /*ends=*/false);
  FakeClock clock(1e9);
  int stops = 0;
  RunMonitorOptions options;
  options.status_files = StatusFiles::by_caller;
  options.is_live = true;
  options.clock = &clock;
  options.stop_training = [&]() -> Result<StopOutcome> {
    ++stops;
    return StopOutcome::ended;
  };
  const auto monitor = *RunMonitor::create(
      folder.path("run"),
      rules("StalledTrainingRule",
            {{"threshold", "60"}, {"stop_training_on_fire", "true"}}),
      std::move(options));
  EXPECT_TRUE(monitor->poll().ok());
  EXPECT_EQ(stops, 0);
  clock.advance(std::chrono::seconds(61));
  EXPECT_TRUE(monitor->poll().ok());
  EXPECT_EQ(stops, 1);
  EXPECT_THAT(monitor->finish("Stopped").actions, testing::SizeIs(1));
}

TEST(RunMonitor, LeavesTheTimeOutOfARunThatIsNotLive) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  FakeClock clock(1e9);
  RunMonitorOptions options;
  options.clock = &clock;
  const auto monitor = *RunMonitor::create(
      folder.path("run"), rules("StalledTrainingRule", {{"threshold", "60"}}),
      std::move(options));
  EXPECT_TRUE(monitor->poll().ok());
  clock.advance(std::chrono::seconds(61));
  EXPECT_TRUE(monitor->poll().ok());
  EXPECT_NE(monitor->verdicts()[0].status, RuleStatus::issues_found);
}

TEST(RunMonitor, EndsRulesInProgressAsStoppedWhenItIsCancelled) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  RunMonitorOptions options;
  options.status_files = StatusFiles::by_caller;
  const auto monitor = monitor_of(folder.path("run"), std::move(options));
  EXPECT_TRUE(monitor->poll().ok());
  monitor->stop();
  EXPECT_FALSE(monitor->is_judging());
  EXPECT_EQ(monitor->finish("InProgress").verdicts[0].status,
            RuleStatus::stopped);
}

TEST(RunMonitor, WritesTheReportsThatRulesStandFor) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  RunMonitorOptions options;
  options.reports = {
      {"VanishingGradient",
       [](Trial& trial, double) -> Result<std::vector<ReportFile>> {
         return std::vector<ReportFile>{
             {"rule-output/x.txt", std::to_string(trial.last_complete_step())}};
       }},
      {"AnotherRule", [](Trial&, double) -> Result<std::vector<ReportFile>> {
         return Error{Error::Code::io, "never called"};
       }}};
  const auto monitor = monitor_of(folder.path("run"), std::move(options));
  EXPECT_TRUE(monitor->poll().ok());
  const MonitorResult& result = monitor->finish("Completed");
  EXPECT_FALSE(result.report_error);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_THAT(result.reports[0], HasSubstr("rule-output/x.txt"));
  EXPECT_TRUE(exists(folder, "run/rule-output/x.txt"));
}

TEST(RunMonitor, CreatesNothingAnewForARunThatWasRemoved) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  for (const auto files :
       {StatusFiles::by_caller, StatusFiles::in_background}) {
    record_run(folder.path("again"), kHealthy);
    RunMonitorOptions options;
    options.status_files = files;
    const auto monitor = monitor_of(folder.path("again"), std::move(options));
    EXPECT_TRUE(monitor->poll().ok());
    std::error_code is_being_written;
    while (exists(folder, "again")) {
      std::filesystem::remove_all(folder.path("again"), is_being_written);
    }
    EXPECT_THAT(monitor->finish("Completed").actions, IsEmpty());
    EXPECT_FALSE(exists(folder, "again"));
  }
}

TEST(RunMonitor, SaysBeforehandWhichActionsItCannotPerform) {
  EXPECT_TRUE(check_actions({}).ok());
  const ActionRequest email[] = {{ActionKind::email, "a@b"}};
  EXPECT_FALSE(check_actions(email).ok());
}

}  // namespace
}  // namespace smdebug
