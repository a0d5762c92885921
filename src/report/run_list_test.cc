#include "smdebug/report/run_list.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/report/removal_text.h"

#include "report/wording.h"

namespace smdebug {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RunRow row(const std::string& run, double started) {
  RunProgress progress;
  progress.steps = 120;
  progress.losses = {{"MSELoss_output_0", Mode::train, 119, 0.43214}};
  progress.bytes = 12'400'000;
  progress.started_seconds = started;
  RunRow made = run_row(progress);
  made.run = run;
  made.state = RunState::ended;
  return made;
}

RecordedStatus judged(const char* rule, RuleStatus status) {
  RecordedStatus made;
  made.key = made.rule = rule;
  made.status = rule_status_name(status);
  return made;
}

TEST(RunList, HasALineForEachRun) {
  std::vector<RunRow> rows = {row("a", 1000), row("b", 1000)};
  rows[1].state = RunState::running;
  EXPECT_EQ(run_list_text(rows, 1180),
            "run  state    steps    loss  rules     size    started\n"
            "a    ended      120  0.4321         12.4 MB  3 min ago\n"
            "b    running    120  0.4321         12.4 MB  3 min ago\n");
}

TEST(RunList, NamesTheModeOfALossThatIsNotOfTheTraining) {
  RunRow made = row("a", 1000);
  made.loss->mode = Mode::eval;
  EXPECT_THAT(run_list_text(std::vector{made}, 1000),
              HasSubstr("  0.4321 (EVAL)  "));
}

TEST(RunList, BeginsWithTheNewestRun) {
  std::vector<RunRow> rows = {row("old", 10), row("b", 20), row("a", 20)};
  sort_rows(rows);
  EXPECT_EQ(rows[0].run, "a");
  EXPECT_EQ(rows[1].run, "b");
  EXPECT_EQ(rows[2].run, "old");
}

TEST(RunList, ShowsAttemptsOnlyIfATrainingWasStartedAgain) {
  std::vector<RunRow> rows = {row("a", 1000), row("b", 1000)};
  EXPECT_THAT(run_list_text(rows, 1000), Not(HasSubstr("attempt")));
  rows[0].attempt = 3;
  EXPECT_THAT(run_list_text(rows, 1000), HasSubstr("attempt"));
}

TEST(RunList, ShowsTheReasonIfARunCannotBeRead) {
  RunRow broken;
  broken.run = "b\x1b[2J";
  broken.problem = "run.json: expected\na value";
  const std::vector<RunRow> rows = {row("a", 1000), broken};
  const std::string text = run_list_text(rows, 1000);
  EXPECT_THAT(text, HasSubstr("unreadable"));
  EXPECT_THAT(text, HasSubstr("run.json: expected a value\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_list_json(rows), HasSubstr(R"("state": "unreadable")"));
}

TEST(RunList, NamesTheRulesThatFiredOnce) {
  RunRow made = row("a", 0);
  EXPECT_EQ(findings_text(made), "");
  made.rules = {judged("AllZero", RuleStatus::no_issues_found)};
  EXPECT_EQ(findings_text(made), "no issue");
  made.rules.push_back(judged("DeadRelu", RuleStatus::issues_found));
  made.rules.push_back(judged("DeadRelu", RuleStatus::issues_found));
  made.rules.push_back(judged("AllZero", RuleStatus::issues_found));
  EXPECT_EQ(findings_text(made), "AllZero, DeadRelu");
  for (const char* more : {"Overfit", "TreeDepth"})
    made.rules.push_back(judged(more, RuleStatus::issues_found));
  EXPECT_EQ(findings_text(made), "AllZero, DeadRelu, Overfit, and 1 more");
}

TEST(RunList, DistinguishesAdviceFromFaults) {
  RunRow made = row("a", 0);
  RecordedStatus advice = judged("Overfit", RuleStatus::issues_found);
  advice.severity = Severity::advice;
  made.rules = {judged("AllZero", RuleStatus::no_issues_found), advice};
  EXPECT_EQ(findings_text(made), "advice: Overfit");
  EXPECT_THAT(run_list_json(std::vector{made}), HasSubstr(R"("fired": [],)"));
  made.rules.push_back(judged("DeadRelu", RuleStatus::issues_found));
  EXPECT_EQ(findings_text(made), "DeadRelu");
  // Another configuration of the rule has found a fault.
  made.rules.push_back(judged("Overfit", RuleStatus::issues_found));
  EXPECT_EQ(findings_text(made), "DeadRelu, Overfit");
}

TEST(RunList, NamesTheExceptionThatEndedATraining) {
  RunProgress progress;
  progress.raised = "ValueError";
  RunRow made = run_row(progress);
  made.state = RunState::failed;
  EXPECT_THAT(run_list_text(std::vector{made}, 0),
              AllOf(HasSubstr("failed"), HasSubstr("ended by ValueError")));
  EXPECT_THAT(run_list_json(std::vector{made}),
              HasSubstr(R"("state": "failed")"));
}

TEST(RunList, DoesNotClaimAResultWhereNothingWasJudged) {
  RunRow made = row("a", 0);
  made.rules = {judged("AllZero", RuleStatus::error)};
  EXPECT_EQ(findings_text(made), "nothing judged");
  made.rules = {judged("AllZero", RuleStatus::in_progress)};
  EXPECT_EQ(findings_text(made), "not judged to the end");
  made.state = RunState::running;
  EXPECT_EQ(findings_text(made), "judging");
}

TEST(RunList, ShowsALossThatIsNotANumber) {
  RunRow made = row("a", 0);
  made.loss->value = std::nan("");
  EXPECT_THAT(run_list_text(std::vector{made}, 0), HasSubstr(" nan "));
  EXPECT_THAT(run_list_json(std::vector{made}), HasSubstr(R"("value": "nan")"));
}

TEST(RunList, ShowsErrorsAndDropsOfTheRecording) {
  RunProgress progress;
  progress.error = "no space left";
  progress.dropped_tensors = 2;
  RunRow made = run_row(progress);
  made.state = RunState::ended;
  EXPECT_THAT(run_list_text(std::vector{made}, 0),
              HasSubstr("recording failed: no space left; 2 tensors dropped"));
}

TEST(RunList, ShowsAgesInOneUnit) {
  for (const auto& [seconds, text] :
       {std::pair(-5.0, "0 s ago"), std::pair(59.9, "59 s ago"),
        std::pair(60.0, "1 min ago"), std::pair(7199.0, "1 h ago"),
        std::pair(86400.0, "1 day ago"),
        std::pair(86400.0 * 400, "400 days ago"), std::pair(1e300, ""),
        std::pair(std::nan(""), "")}) {
    EXPECT_EQ(age_text(seconds), text) << seconds;
  }
}

TEST(RemovalText, NamesTheFilesThatStay) {
  const std::vector<RunRemoval> removals = {
      {"a", {"run.json", "progress.json"}, 1500, {}},
      {"b", {"run.json"}, 600, {"1", "2", "3", "4", "5", "6"}}};
  EXPECT_EQ(removals_text(removals),
            "a  2 files  1.5 kB\n"
            "b   1 file   600 B  keeps 1, 2, 3, 4, 5, and 1 more\n");
  EXPECT_EQ(removal_total(removals), "2 runs (2.1 kB)");
}

}  // namespace
}  // namespace smdebug
