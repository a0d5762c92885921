#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

StepBuilder step(Step number) {
  StepBuilder observed(number);
  observed.with_scalar("Loss", 1);
  return observed;
}

TEST(StalledTrainingRule, FiresWhenNoStepHasComeForItsThreshold) {
  RuleHarness rule("StalledTrainingRule", {{"threshold", "60"}});
  rule.fires_at(step(4));
  EXPECT_FALSE(rule.fires_at_time(1000));
  EXPECT_FALSE(rule.fires_at_time(1059));
  EXPECT_TRUE(rule.fires_at_time(1060));
  EXPECT_EQ(rule.verdict().message,
            "no new step for 60 s since step 4 (TRAIN step 4); the threshold "
            "is 60 s");
  EXPECT_EQ(rule.verdict().evidence[0].value, 60);
  EXPECT_EQ(rule.verdict().evidence[0].step, (StepId{4, Mode::train, 4}));
}

TEST(StalledTrainingRule, StartsAnewWithEveryStep) {
  RuleHarness rule("StalledTrainingRule", {{"threshold", "60"}});
  double now = 1000;
  for (Step i = 0; i < 20; ++i) {
    rule.fires_at(step(i));
    EXPECT_FALSE(rule.fires_at_time(now));
    EXPECT_FALSE(rule.fires_at_time(now += 59));
  }
  EXPECT_TRUE(rule.fires_at_time(now += 1));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the longest pause before was 59 s"));
}

TEST(StalledTrainingRule, FindsATrainingThatHangsBeforeItsFirstStep) {
  RuleHarness rule("StalledTrainingRule");
  EXPECT_FALSE(rule.fires_at_time(5));
  EXPECT_FALSE(rule.fires_at_time(5 + 1799));
  EXPECT_TRUE(rule.fires_at_time(5 + 1800));
  EXPECT_THAT(rule.verdict().message, HasSubstr("with no step before"));
}

TEST(StalledTrainingRule, StartsAnewWhenTheClockIsSetBack) {
  RuleHarness rule("StalledTrainingRule", {{"threshold", "60"}});
  EXPECT_FALSE(rule.fires_at_time(1000));
  EXPECT_FALSE(rule.fires_at_time(100));
  EXPECT_FALSE(rule.fires_at_time(159));
  EXPECT_TRUE(rule.fires_at_time(160));
}

TEST(StalledTrainingRule, AsksForTheTrainingToBeEndedOnlyWhereItIsTold) {
  for (const bool stop : {false, true}) {
    RuleHarness rule("StalledTrainingRule",
                     {{"threshold", "1"},
                      {"stop_training_on_fire", stop ? "True" : "False"},
                      {"training_job_name_prefix", "my-job"}});
    rule.fires_at_time(0);
    ASSERT_TRUE(rule.fires_at_time(1));
    EXPECT_EQ(rule.verdict().stop_training, stop);
  }
}

TEST(StalledTrainingRule, FindsNoIssueInATrainingThatWentOn) {
  RuleHarness rule("StalledTrainingRule");
  rule.fires_at_time(0);
  rule.fires_at(step(0));
  rule.fires_at_time(10);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  EXPECT_EQ(rule.verdict().steps_judged, 1u);
}

TEST(StalledTrainingRule, NeverSaysNoIssueOfARunThatNobodyWatched) {
  RuleHarness rule("StalledTrainingRule");
  rule.fires_at(step(0));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("smdebug watch"));
}

TEST(StalledTrainingRule, LetsNoTimePassOutsideItsStepBounds) {
  RuleHarness rule(
      "StalledTrainingRule",
      {{"threshold", "60"}, {"start_step", "5"}, {"end_step", "7"}});
  rule.fires_at_time(0);
  EXPECT_FALSE(rule.fires_at_time(1000));
  rule.fires_at(step(6));
  EXPECT_FALSE(rule.fires_at_time(2000));
  rule.fires_at(step(7));
  EXPECT_FALSE(rule.fires_at_time(9000));
}

}  // namespace
}  // namespace smdebug
