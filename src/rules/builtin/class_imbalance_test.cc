
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::int64_t> rows(const std::vector<float>& values) {
  return {std::int64_t(values.size())};
}

StepBuilder labelled(Step step, const std::vector<float>& labels,
                     const std::vector<float>& predictions) {
  StepBuilder observed(step);
  observed.with_values("labels", labels, rows(labels))
      .with_values("predictions", predictions, rows(predictions));
  return observed;
}

TEST(ClassImbalance, FiresWhereTheLargestClassIsMoreThanTheRatioAndNotAtIt) {
  RuleHarness at("ClassImbalance",
                 {{"threshold_imbalance", "3"}, {"samples", "4"}});
  EXPECT_FALSE(at.fires_at(labelled(0, {0, 0, 0, 1}, {0, 0, 0, 1})));
  EXPECT_EQ(at.finish().status, RuleStatus::no_issues_found);

  RuleHarness above("ClassImbalance",
                    {{"threshold_imbalance", "3"}, {"samples", "4"}});
  EXPECT_FALSE(above.fires_at(labelled(0, {0, 0, 0, 1}, {0, 0, 0, 1})));
  // Counted over steps: four to one.
  EXPECT_TRUE(above.fires_at(labelled(1, {0}, {0})));
  ASSERT_EQ(above.verdict().evidence.size(), 1u);
  EXPECT_EQ(above.verdict().evidence[0].value, 4);
  EXPECT_EQ(above.verdict().message,
            "labels: class 0 has 4 labels and class 1 has 1, a ratio of 4 "
            "(allowed: up to 3); 5 labels counted up to step 1 (TRAIN step 1)");
}

TEST(ClassImbalance, FiresWhereTooMuchOfAClassIsMispredicted) {
  // Class 1: two of three are wrong; class 2: all.
  const std::vector<float> labels = {0, 0, 1, 1, 1, 2};
  const std::vector<float> predictions = {0, 0, 1, 0, 2, 1};
  RuleHarness rule("ClassImbalance",
                   {{"threshold_misprediction", "0.6"}, {"samples", "6"}});
  EXPECT_TRUE(rule.fires_at(labelled(0, labels, predictions)));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].quantity,
            "mispredicted share of class 2");
  EXPECT_EQ(rule.verdict().evidence[0].value, 1);
  EXPECT_NEAR(rule.verdict().evidence[1].value, 2.0 / 3, 1e-12);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("1 of 1 samples of class 2 are mispredicted"),
                    HasSubstr("so are 2 of 3 classes")));

  RuleHarness patient("ClassImbalance",
                      {{"threshold_misprediction", "1"}, {"samples", "6"}});
  EXPECT_FALSE(patient.fires_at(labelled(0, labels, predictions)));
}

TEST(ClassImbalance, JudgesNothingBeforeItHasSeenItsSamples) {
  RuleHarness rule("ClassImbalance", {{"samples", "6"}});
  EXPECT_FALSE(rule.fires_at(labelled(0, {0, 1, 1}, {1, 0, 0})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
  EXPECT_TRUE(rule.fires_at(labelled(1, {0, 1, 1}, {1, 0, 0})));

  RuleHarness short_run("ClassImbalance", {{"samples", "7"}});
  short_run.fires_at(labelled(0, {0, 1, 1}, {0, 1, 1}));
  EXPECT_EQ(short_run.finish().status, RuleStatus::error);
  EXPECT_THAT(short_run.verdict().message,
              AllOf(HasSubstr("3 labels were seen"), HasSubstr("'samples'")));
}

TEST(ClassImbalance, ReadsRowsOfScoresByTheirLargest) {
  RuleHarness rule("ClassImbalance", {{"samples", "3"}});
  // Labels 2, 0, 1 as rows; predicted 2, 0, 2.
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0)
          .with_values("labels", {0, 0, 1, 1, 0, 0, 0, 1, 0}, {3, 3})
          .with_values("predictions", {-9, kNan, 1, 5, 4, 3, 0.1f, 0.2f, 0.3f},
                       {3, 3})));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].quantity,
            "mispredicted share of class 1");
}

TEST(ClassImbalance, CutsProbabilitiesBehindOneHalf) {
  RuleHarness rule("ClassImbalance", {{"samples", "4"}});
  EXPECT_FALSE(
      rule.fires_at(labelled(0, {0, 0, 1, 1}, {0.5f, 0.49f, 0.51f, 0.99f})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(ClassImbalance, ReadsTheScoresOfOneSampleWhereArgmaxSaysSo) {
  StepBuilder one(0);
  one.with_values("labels", {2}, {1})
      .with_values("predictions", {0.1f, 0.7f, 0.2f}, {3});
  RuleHarness with("ClassImbalance", {{"samples", "1"}, {"argmax", "True"}});
  EXPECT_TRUE(with.fires_at(one));  // predicted 1, the label is 2
  RuleHarness without("ClassImbalance", {{"samples", "1"}});
  EXPECT_FALSE(without.fires_at(one));
  EXPECT_THAT(without.finish().message,
              HasSubstr("no predictions were found with as many rows"));
}

TEST(ClassImbalance, PairsByWorkerAndByRows) {
  RuleHarness rule("ClassImbalance", {{"samples", "5"}});
  StepBuilder step(0);
  step.with_values("labels", {0, 0}, {2})
      .with_values("labels", {1, 1, 1}, {3})
      .from_worker("worker_1")
      .with_values("predictions_a", {1, 1, 1}, {3})
      .from_worker("worker_1")
      .with_values("predictions_b", {7, 7, 7}, {3})
      .with_values("predictions_c", {0, 0}, {2});
  EXPECT_FALSE(rule.fires_at(step));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(ClassImbalance, LooksOnlyAtTheNamesThatItWasGiven) {
  RuleHarness rule("ClassImbalance", {{"samples", "2"},
                                      {"labels_regex", "^y$"},
                                      {"predictions_regex", "^y_hat$"}});
  EXPECT_FALSE(rule.fires_at(labelled(0, {0, 1}, {1, 0})));
  EXPECT_TRUE(rule.fires_at(StepBuilder(1)
                                .with_values("y", {0, 1}, {2})
                                .with_values("y_hat", {1, 0}, {2})));
}

TEST(ClassImbalance, TakesTheInputsOfALossWhereNothingElseIsThere) {
  RuleHarness rule("ClassImbalance", {{"samples", "2"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0)
          .with_values("CrossEntropyLoss_input_0", {2, 1, 1, 2}, {2, 2})
          .with_values("CrossEntropyLoss_input_1", {1, 0}, {2})));
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "CrossEntropyLoss_input_1");
}

TEST(ClassImbalance, TakesTheInputsOfALossThatGluonNamed) {
  RuleHarness rule("ClassImbalance", {{"samples", "2"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0)
          .with_values("softmaxcrossentropyloss12_input_0", {2, 1, 1, 2},
                       {2, 2})
          .with_values("softmaxcrossentropyloss12_input_1", {1, 0}, {2})));
}

TEST(ClassImbalance, TakesNoInputsOfALossThatComparesNumbers) {
  for (const std::string loss : {"MSELoss", "Net_HuberLoss", "l2loss0"}) {
    RuleHarness rule("ClassImbalance", {{"samples", "2"}});
    EXPECT_FALSE(rule.fires_at(
        StepBuilder(0)
            .with_values(loss + "_input_0", {2, 1, 1, 2}, {2, 2})
            .with_values(loss + "_input_1", {1, 2, 2, 1}, {2, 2})))
        << loss;
    EXPECT_EQ(rule.finish().status, RuleStatus::error) << loss;
  }
}

TEST(ClassImbalance, LeavesOutIgnoredLabelsAndNan) {
  RuleHarness rule("ClassImbalance", {{"samples", "2"}});
  EXPECT_FALSE(
      rule.fires_at(labelled(0, {0, 1, -100, -100, kNan}, {0, 1, 0, 1, 1})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(ClassImbalance, DoesNotTakeARegressionForClasses) {
  RuleHarness rule("ClassImbalance", {{"samples", "2"}});
  EXPECT_FALSE(rule.fires_at(labelled(0, {0.5f, 1.5f}, {0, 1})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("not integers"));
}

TEST(ClassImbalance, GivesUpOnMoreValuesThanThereCanBeClasses) {
  RuleHarness rule("ClassImbalance");
  std::vector<float> ids(100'001);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = float(i);
  EXPECT_FALSE(rule.fires_at(labelled(0, ids, ids)));
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("more than 100000"));
}

TEST(ClassImbalance, NeverSaysNoIssueOfPredictionsThatWereNotThere) {
  RuleHarness rule("ClassImbalance", {{"samples", "2"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_values("labels", {0, 1}, {2})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("balanced"), HasSubstr("no predictions")));
}

TEST(ClassImbalance, PassesOverTensorsWithoutElements) {
  RuleHarness rule("ClassImbalance", {{"samples", "1"}});
  EXPECT_FALSE(rule.fires_at(labelled(0, {}, {})));
  rule.fires_at(StepBuilder(1).with_nothing("labels"));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

}  // namespace
}  // namespace smdebug
