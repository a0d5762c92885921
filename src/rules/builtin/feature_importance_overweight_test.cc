#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

StepBuilder importances(Step step, const std::vector<double>& values) {
  StepBuilder observed({step, Mode::global, step});
  for (std::size_t i = 0; i < values.size(); ++i) {
    observed.with_scalar("feature_importance/weight/f" + std::to_string(i),
                         values[i]);
  }
  return observed;
}

TEST(FeatureImportanceOverweight, FiresAboveTheThresholdAndNotAtIt) {
  RuleHarness rule("FeatureImportanceOverweight", {{"threshold", "0.75"}});
  EXPECT_FALSE(rule.fires_at(importances(0, {1, 1, 1, 1})));
  // 1 + 4 + 2 of 8.
  EXPECT_TRUE(rule.fires_at(importances(1, {1, 1, 2, 4})));
  EXPECT_EQ(
      rule.verdict().message,
      "feature_importance/weight/f3: the 3 largest of 4 used features have "
      "0.875 of the total importance at step 1, more than 0.75: "
      "feature_importance/weight/f3 (0.5), feature_importance/weight/f2 "
      "(0.25), feature_importance/weight/f0 (0.12); the next has 0.12");
  ASSERT_EQ(rule.verdict().evidence.size(), 4u);
  EXPECT_EQ(rule.verdict().evidence[0].value, 0.875);
  EXPECT_EQ(rule.verdict().evidence[0].threshold, 0.75);
  EXPECT_EQ(rule.verdict().evidence[1].value, 0.5);
}

TEST(FeatureImportanceOverweight, AddsUpAsManyFeaturesAsItIsTold) {
  for (const bool two : {false, true}) {
    RuleHarness rule("FeatureImportanceOverweight",
                     {{"nfeatures", two ? "2" : "1"}, {"threshold", "0.6"}});
    EXPECT_EQ(rule.fires_at(importances(0, {5, 2, 2, 1})), two);
  }
  RuleHarness one("FeatureImportanceOverweight",
                  {{"nfeatures", "1"}, {"threshold", "0.4"}});
  EXPECT_TRUE(one.fires_at(importances(0, {5, 2, 2, 1})));
  EXPECT_EQ(one.verdict().message,
            "feature_importance/weight/f0: the largest of 4 used features has "
            "0.5 of the total importance at step 0, more than 0.4: "
            "feature_importance/weight/f0 (0.5); the next has 0.2");
}

TEST(FeatureImportanceOverweight, JudgesNothingWithTooFewFeatures) {
  RuleHarness rule("FeatureImportanceOverweight");
  EXPECT_FALSE(rule.fires_at(importances(0, {5, 2, 2})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_EQ(rule.verdict().message,
            "nothing to judge: the model uses 3 features, so the largest 3 "
            "always have the total importance; set nfeatures below 3");
}

TEST(FeatureImportanceOverweight, SaysOfASingleFeatureThatItHasAllImportance) {
  for (const char* nfeatures : {"1", "3"}) {
    RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", nfeatures}});
    EXPECT_FALSE(rule.fires_at(importances(0, {0.25})));
    EXPECT_EQ(rule.finish().status, RuleStatus::error);
    EXPECT_THAT(
        rule.verdict().message,
        AllOf(HasSubstr("uses a single feature"), HasSubstr("leak the label"),
              testing::Not(HasSubstr("nfeatures"))));
  }
}

TEST(FeatureImportanceOverweight, FiresIfTheModelUsesASingleFeatureOfSeveral) {
  for (const float features : {1.0f, 5.0f}) {
    RuleHarness rule("FeatureImportanceOverweight", {{"preset", "tuned"}});
    EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_values(
        "hyperparameters/num_feature", {features}, {1})));
    EXPECT_EQ(rule.fires_at(StepBuilder(10).with_scalar(
                  "feature_importance/total_gain/f4", 0.5)),
              features > 1);
    if (features == 1) continue;
    EXPECT_EQ(rule.verdict().message,
              "feature_importance/total_gain/f4: the model uses only 1 of 5 "
              "features at step 10 (TRAIN step 10): "
              "feature_importance/total_gain/f4 (1)");
    EXPECT_EQ(rule.verdict().step.global, 10);
  }
}

TEST(FeatureImportanceOverweight, SaysWhyARunWithoutImportancesIsNotJudged) {
  RuleHarness rule("FeatureImportanceOverweight");
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_values("hyperparameters/num_feature", {5}, {1})));
  EXPECT_EQ(rule.finish().message,
            "nothing to judge: the run has no feature importances");
  RuleHarness tuned("FeatureImportanceOverweight", {{"preset", "tuned"}});
  EXPECT_FALSE(tuned.fires_at(importances(9, {1})));
  EXPECT_THAT(tuned.finish().message,
              HasSubstr("no complete step from step 10 on"));
}

TEST(FeatureImportanceOverweight, SaysThatSumsAreNotPositive) {
  RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  EXPECT_FALSE(rule.fires_at(importances(0, {0, 0})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("positive sum"));
}

TEST(FeatureImportanceOverweight, LetsTheFirstTreesPassWhenTuned) {
  RuleHarness rule("FeatureImportanceOverweight", {{"preset", "tuned"}});
  const auto gains = [](Step step) {
    return StepBuilder(step)
        .with_scalar("feature_importance/total_gain/a", 99)
        .with_scalar("feature_importance/total_gain/b", 1);
  };
  EXPECT_FALSE(rule.fires_at(gains(0)));
  EXPECT_TRUE(rule.fires_at(gains(10)));
}

TEST(FeatureImportanceOverweight, LooksOnlyAtTheNamesThatItIsGiven) {
  StepBuilder step(0);
  for (const char* kind : {"gain", "weight"}) {
    for (const char* feature : {"a", "b"}) {
      step.with_scalar(
          std::string("feature_importance/") + kind + "/" + feature,
          kind[0] == 'g' && feature[0] == 'a' ? 9 : 1);
    }
  }
  RuleHarness by_weight("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  EXPECT_FALSE(by_weight.fires_at(step));
  RuleHarness by_gain(
      "FeatureImportanceOverweight",
      {{"nfeatures", "1"}, {"tensor_regex", "feature_importance/gain"}});
  EXPECT_TRUE(by_gain.fires_at(step));
}

TEST(FeatureImportanceOverweight, ReadsAllFeaturesFromOneTensor) {
  RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0).with_values("feature_importance/weight", {1, 9, 0}, {3})));
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "feature_importance/weight[1]");
}

TEST(FeatureImportanceOverweight, WorksFromSavedReductionsAlone) {
  RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  EXPECT_TRUE(rule.fires_at(StepBuilder(0)
                                .with_reductions("feature_importance/weight/a",
                                                 {{{Reduction::mean}, 9.0}})
                                .with_reductions("feature_importance/weight/b",
                                                 {{{Reduction::mean}, 1.0}})));
  EXPECT_DOUBLE_EQ(rule.verdict().evidence[0].value, 0.9);
}

TEST(FeatureImportanceOverweight, JudgesEachWorkerByItself) {
  RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  StepBuilder step(0);
  for (const char* worker : {"worker_0", "worker_1"}) {
    step.with_scalar("feature_importance/weight/a", 9).from_worker(worker);
  }
  EXPECT_FALSE(rule.fires_at(step));  // one feature each
}

TEST(FeatureImportanceOverweight, LeavesOutNanAndSumsThatAreNotPositive) {
  RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(rule.fires_at(importances(0, {nan, 5})));
  EXPECT_FALSE(rule.fires_at(importances(1, {0, 0})));
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(2).with_values("feature_importance/weight", {}, {0})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
}

// The shares of their magnitudes, such as 0.4 and -0.3.
TEST(FeatureImportanceOverweight, JudgesNoCoefficientsOfALinearModel) {
  RuleHarness rule("FeatureImportanceOverweight", {{"nfeatures", "1"}});
  EXPECT_FALSE(rule.fires_at(importances(0, {0.9, -0.05, -0.05})));
  EXPECT_THAT(rule.finish().message, HasSubstr("booster=gblinear"));
  EXPECT_TRUE(rule.verdict().lacks_data);
}

}  // namespace
}  // namespace smdebug
