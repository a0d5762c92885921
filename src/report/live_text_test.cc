#include "smdebug/report/live_text.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

Verdict verdict(const char* rule, RuleStatus status) {
  Verdict made;
  made.rule = rule;
  made.status = status;
  return made;
}

TEST(LiveText, ShowsStepSpeedLossRulesAndWhatFiredOnOneLine) {
  const std::vector<Verdict> verdicts = {
      verdict("DeadRelu", RuleStatus::issues_found),
      verdict("AllZero", RuleStatus::in_progress),
      verdict("Overfit", RuleStatus::in_progress)};
  LiveStatus status;
  status.step = 340;
  status.steps_per_second = 12.0;
  status.loss = {0.43214, Mode::train};
  EXPECT_EQ(status_text(status, verdicts),
            "step 340, 12 steps/s, loss 0.4321, 2 rules, DeadRelu fired");
}

TEST(LiveText, NamesTheModeOfALossThatIsNotOfTheTraining) {
  LiveStatus status;
  status.step = 340;
  status.loss = {0.43214, Mode::eval};
  EXPECT_EQ(status_text(status, {}), "step 340, loss 0.4321 (EVAL), 0 rules");
}

TEST(LiveText, LeavesOutWhatIsNotKnownYet) {
  const std::vector<Verdict> verdicts = {
      verdict("AllZero", RuleStatus::in_progress)};
  EXPECT_EQ(status_text({}, verdicts), "no step yet, 1 rule");
}

TEST(LiveText, NamesTheLagBehindTheTraining) {
  LiveStatus status;
  status.step = 5;
  status.lag_steps = 4;
  status.lag_seconds = 30.04;
  EXPECT_EQ(status_text(status, {}),
            "step 5, 0 rules, 4 steps (30.0 s) behind the training");
}

TEST(LiveText, LeavesOutALagThatNobodyNotices) {
  LiveStatus status;
  status.step = 5;
  status.lag_steps = 6;
  status.lag_seconds = 0.04;
  EXPECT_EQ(status_text(status, {}), "step 5, 0 rules");
}

TEST(LiveText, EscapesTheFolderInTheFirstLine) {
  EXPECT_EQ(start_text("/runs/a\x1b[2J", {}),
            "recording to '/runs/a\\x1b[2J', 0 rules");
}

Verdict finding(const char* rule, Step step) {
  Verdict made = verdict(rule, RuleStatus::issues_found);
  made.severity = Severity::serious;
  made.step.global = step;
  made.message = std::string(rule) + " found\nsomething";
  made.advice = "try \x1b this";
  return made;
}

TEST(LiveText, ShowsAFindingWithItsAdviceOnTwoLines) {
  EXPECT_EQ(finding_text(finding("DeadRelu", 4), {}),
            "DeadRelu: IssuesFound: DeadRelu found something\n"
            "  advice: try \\x1b this\n");
  Verdict advice = finding("Overfit", 4);
  advice.severity = Severity::advice;
  advice.advice.clear();
  EXPECT_EQ(finding_text(advice, {}),
            "Overfit: IssuesFound (advice): Overfit found something\n");
}

TEST(LiveText, LeavesAConsequenceOfAnEarlierFindingToTheStatus) {
  const std::vector<Verdict> earlier = {finding("AllZero", 4)};
  const Verdict saturated = finding("SaturatedActivation", 7);
  EXPECT_EQ(finding_text(saturated, earlier), "");
  EXPECT_EQ(finding_text(finding("AllZero", 9), std::vector{saturated}),
            "AllZero: IssuesFound: AllZero found something\n")
      << "a cause that comes later has its message";
}

TEST(LiveText, ShowsTwoFindingsAtMostThatNothingExplains) {
  std::vector<Verdict> earlier = {finding("AllZero", 4),
                                  finding("SaturatedActivation", 7)};
  EXPECT_EQ(finding_text(finding("MixedSamples", 8), earlier),
            "MixedSamples: IssuesFound: MixedSamples found something\n")
      << "one that an earlier finding explains does not count";
  earlier.push_back(finding("MixedSamples", 8));
  EXPECT_EQ(finding_text(finding("ReplicasDiffer", 9), earlier), "");
}

}  // namespace
}  // namespace smdebug
