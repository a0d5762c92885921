#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/one_rule.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ObservedStep classified(Step step, const std::vector<float>& labels,
                        const std::vector<float>& predictions) {
  ObservedStep observed(step);
  observed.with_values("labels", labels, {std::int64_t(labels.size())})
      .with_values("predictions", predictions,
                   {std::int64_t(predictions.size())});
  return observed;
}

// Of ten predictions of class 1, one is wrong: 0.9 and 0.1, at both limits.
TEST(Confusion, IsHealthyAtItsLimits) {
  OneRule rule("Confusion");
  EXPECT_FALSE(
      rule.fires_at(classified(0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},  //
                               {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(Confusion, FiresBeyondItsLimits) {
  // Of the four predictions of class 1, three are right and one is a 0.
  OneRule rule("Confusion");
  EXPECT_TRUE(
      rule.fires_at(classified(4, {1, 1, 1, 0, 0, 0}, {1, 1, 1, 1, 0, 0})));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].quantity,
            "share of the predictions of class 1 that are class 1");
  EXPECT_EQ(rule.verdict().evidence[0].value, 0.75);
  EXPECT_EQ(rule.verdict().evidence[0].relation, "<");
  EXPECT_EQ(rule.verdict().evidence[1].quantity,
            "share of the predictions of class 1 that are class 0");
  EXPECT_EQ(rule.verdict().evidence[1].value, 0.25);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("predictions: 3 of 4 predictions of class 1 are "
                              "right, class 1, 0.75 (at least 0.9 should be)"),
                    HasSubstr("at step 4"),
                    HasSubstr("2 entries of the confusion matrix of 2")));
}

// A model that is always right: the documents' own formula would fire here.
TEST(Confusion, IsHealthyWhereEveryPredictionIsRight) {
  OneRule rule("Confusion");
  EXPECT_FALSE(rule.fires_at(classified(0, {0, 1, 2, 3}, {0, 1, 2, 3})));
}

TEST(Confusion, JudgesEachLimitByItself) {
  // Of five predictions of class 0, three are right; 1 and 2 have one each.
  const std::vector<float> labels = {0, 0, 0, 1, 2};
  const std::vector<float> predictions = {0, 0, 0, 0, 0};
  const auto fires = [&](const char* min_diag, const char* max_off_diag) {
    OneRule rule("Confusion",
                 {{"min_diag", min_diag}, {"max_off_diag", max_off_diag}});
    return rule.fires_at(classified(0, labels, predictions));
  };
  EXPECT_FALSE(fires("0.6", "0.2"));
  EXPECT_TRUE(fires("0.61", "0.2"));
  EXPECT_TRUE(fires("0.6", "0.19"));
}

TEST(Confusion, PassesOverClassesThatWereNeverPredicted) {
  OneRule rule("Confusion", {{"min_diag", "0.5"}, {"max_off_diag", "0.5"}});
  EXPECT_FALSE(rule.fires_at(classified(0, {0, 1}, {0, 0})));
}

TEST(Confusion, LooksAtOneStepUnlessItIsCumulative) {
  const auto fires = [](const char* cumulative) {
    OneRule rule("Confusion", {{"cumulative", cumulative},
                               {"min_diag", "0.6"},
                               {"max_off_diag", "0.4"}});
    rule.fires_at(classified(0, {1, 1, 1, 1}, {1, 1, 1, 1}));
    return rule.fires_at(classified(1, {1, 0}, {1, 1}));
  };
  EXPECT_TRUE(fires("false"));  // 1 of 2
  EXPECT_FALSE(fires("true"));  // 5 of 6
}

TEST(Confusion, LeavesOutWhatIsNoCategory) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OneRule rule("Confusion", {{"category_no", "2"}});
  EXPECT_FALSE(
      rule.fires_at(classified(0, {0, 1, 2, 0, -1}, {0, 1, 0, nan, 1})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);

  OneRule none("Confusion", {{"category_no", "2"}});
  EXPECT_FALSE(none.fires_at(classified(0, {2, 3}, {2, 3})));
  EXPECT_EQ(none.finish().status, RuleStatus::error);
  EXPECT_THAT(none.verdict().message, HasSubstr("classes, 0 to 1"));
}

TEST(Confusion, TakesTensorsByNameAndByCollection) {
  OneRule rule("Confusion", {{"labels", "y.true"},
                             {"predictions", "y.hat"},
                             {"labels_collection", "losses"}});
  // "yxtrue" is not "y.true".
  EXPECT_FALSE(rule.fires_at(ObservedStep(0)
                                 .with_values("yxtrue", {0, 1}, {2})
                                 .with_values("y.hat", {1, 0}, {2})));
  EXPECT_TRUE(rule.fires_at(ObservedStep(1)
                                .with_values("y.true", {0, 1}, {2})
                                .with_values("y.hat", {1, 0}, {2})));
  OneRule by_collection("Confusion", {{"labels_collection", "losses"}});
  EXPECT_TRUE(
      by_collection.fires_at(ObservedStep(0)
                                 .with_values("a loss", {0, 1}, {2})
                                 .with_values("predictions", {1, 0}, {2})));
}

TEST(Confusion, TakesTheInputsOfALossWhereNothingElseIsThere) {
  OneRule rule("Confusion");
  EXPECT_TRUE(
      rule.fires_at(ObservedStep(0)
                        .with_values("NLLLoss_input_0", {2, 1, 1, 2}, {2, 2})
                        .with_values("NLLLoss_input_1", {1, 0}, {2})));
}

TEST(Confusion, NeverSaysNoIssueWithoutPredictions) {
  OneRule rule("Confusion");
  rule.fires_at(ObservedStep(0).with_values("labels", {0, 1}, {2}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("no predictions were found"));
}

TEST(Confusion, PassesOverTensorsWithoutElements) {
  OneRule rule("Confusion");
  EXPECT_FALSE(rule.fires_at(classified(0, {}, {})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

// Random classes, judged a second time by a full matrix. The seed is printed.
TEST(Confusion, AgreesWithAFullMatrix) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> klass(0, 3);
  int fired = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<float> labels(12), predictions(12);
    double matrix[4][4] = {};
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const int label = klass(random);
      const int predicted = klass(random) == 0 ? klass(random) : label;
      labels[i] = float(label);
      predictions[i] = float(predicted);
      ++matrix[label][predicted];
    }
    std::size_t violations = 0;
    for (int i = 0; i < 4; ++i) {
      double sum = 0;
      for (int j = 0; j < 4; ++j) sum += matrix[j][i];
      if (sum == 0) continue;
      for (int j = 0; j < 4; ++j) {
        const double share = matrix[j][i] / sum;
        violations += i == j ? share < 0.7 : share > 0.3;
      }
    }
    OneRule rule("Confusion", {{"min_diag", "0.7"}, {"max_off_diag", "0.3"}});
    EXPECT_EQ(rule.fires_at(classified(0, labels, predictions)),
              violations > 0);
    EXPECT_EQ(rule.verdict().evidence.size(), violations);
    fired += violations > 0;
  }
  EXPECT_GT(fired, 0);
  EXPECT_LT(fired, 200);
}

}  // namespace
}  // namespace smdebug
