#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

StepBuilder classified(Step step, const std::vector<float>& labels,
                       const std::vector<float>& predictions) {
  StepBuilder observed(step);
  observed.with_values("labels", labels, {std::int64_t(labels.size())})
      .with_values("predictions", predictions,
                   {std::int64_t(predictions.size())});
  return observed;
}

// Of ten predictions of class 1, one is wrong: 0.9 and 0.1, at both limits.
TEST(Confusion, IsHealthyAtItsLimits) {
  RuleHarness rule("Confusion");
  EXPECT_FALSE(
      rule.fires_at(classified(0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},  //
                               {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(Confusion, FiresBeyondItsLimits) {
  // Of the four predictions of class 1, three are right and one is a 0.
  RuleHarness rule("Confusion");
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
                              "right, class 1, 0.75 (required: at least 0.9)"),
                    HasSubstr("at step 4"),
                    HasSubstr("2 entries of the confusion matrix of 2")));
}

// A model that is always right: the documents' own formula would fire here.
TEST(Confusion, IsHealthyWhereEveryPredictionIsRight) {
  RuleHarness rule("Confusion");
  EXPECT_FALSE(rule.fires_at(classified(0, {0, 1, 2, 3}, {0, 1, 2, 3})));
}

TEST(Confusion, JudgesEachLimitByItself) {
  // Of five predictions of class 0, three are right; 1 and 2 have one each.
  const std::vector<float> labels = {0, 0, 0, 1, 2};
  const std::vector<float> predictions = {0, 0, 0, 0, 0};
  const auto fires = [&](const char* min_diag, const char* max_off_diag) {
    RuleHarness rule("Confusion",
                     {{"min_diag", min_diag}, {"max_off_diag", max_off_diag}});
    return rule.fires_at(classified(0, labels, predictions));
  };
  EXPECT_FALSE(fires("0.6", "0.2"));
  EXPECT_TRUE(fires("0.61", "0.2"));
  EXPECT_TRUE(fires("0.6", "0.19"));
}

TEST(Confusion, PassesOverClassesThatWereNeverPredicted) {
  RuleHarness rule("Confusion", {{"min_diag", "0.5"}, {"max_off_diag", "0.5"}});
  EXPECT_FALSE(rule.fires_at(classified(0, {0, 1}, {0, 0})));
}

TEST(Confusion, LooksAtOneStepUnlessItIsCumulative) {
  const auto fires = [](const char* cumulative) {
    RuleHarness rule("Confusion", {{"cumulative", cumulative},
                                   {"min_diag", "0.6"},
                                   {"max_off_diag", "0.4"}});
    rule.fires_at(classified(0, {1, 1, 1, 1}, {1, 1, 1, 1}));
    return rule.fires_at(classified(1, {1, 0}, {1, 1}));
  };
  EXPECT_TRUE(fires("false"));  // 1 of 2
  EXPECT_FALSE(fires("true"));  // 5 of 6
}

// Class 0 is predicted twice and is right once; class 1 three times, always
// right.
TEST(Confusion, JudgesAClassOnceItWasPredictedOftenEnough) {
  const auto fires = [](const char* samples) {
    RuleHarness rule("Confusion", {{"samples", samples}});
    return rule.fires_at(classified(0, {0, 1, 1, 1, 1}, {0, 0, 1, 1, 1}));
  };
  EXPECT_TRUE(fires("2"));
  EXPECT_FALSE(fires("3"));
}

TEST(Confusion, CountsThePredictionsOfAClassOverAllStepsIfCumulative) {
  const auto fires = [](const char* cumulative) {
    RuleHarness rule("Confusion",
                     {{"samples", "4"}, {"cumulative", cumulative}});
    rule.fires_at(classified(0, {0, 1}, {0, 0}));
    return rule.fires_at(classified(1, {0, 1}, {0, 0}));
  };
  EXPECT_FALSE(fires("false"));
  EXPECT_TRUE(fires("true"));
}

TEST(Confusion, NeverSaysNoIssueWhereNoClassWasPredictedOftenEnough) {
  RuleHarness rule("Confusion", {{"samples", "3"}});
  EXPECT_FALSE(rule.fires_at(classified(0, {0, 1}, {0, 0})));
  EXPECT_FALSE(rule.fires_at(classified(1, {0, 1}, {1, 1})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(
      rule.verdict().message,
      HasSubstr("nothing to judge: at 2 steps with labels and predictions, no "
                "class was predicted 3 times (parameter 'samples')"));
}

// Ten predictions of class 1, of which so many are right.
StepBuilder with_right(Step step, std::size_t right) {
  std::vector<float> labels(10, 0), predictions(10, 1);
  std::fill_n(labels.begin(), right, 1.F);
  return classified(step, labels, predictions);
}

// The step at which the rule fires, or -1.
Step first_firing(RuleHarness& rule, const std::vector<std::size_t>& right) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (rule.fires_at(with_right(Step(i), right[i]))) return Step(i);
  }
  return -1;
}

TEST(Confusion, WaitsForAsManyStepsInARowWithoutProgressAsPatienceSays) {
  const auto fires_at = [](const std::vector<std::size_t>& right) {
    RuleHarness rule("Confusion", {{"patience", "3"}});
    return first_firing(rule, right);
  };
  EXPECT_EQ(fires_at({5, 5, 5, 5}), 2);
  EXPECT_EQ(fires_at({5, 4, 3, 2}), 2);        // it gets worse
  EXPECT_EQ(fires_at({1, 2, 3, 4, 5}), -1);    // it gets better
  EXPECT_EQ(fires_at({1, 3, 2, 2, 2}), 3);     // not better than the 3
  EXPECT_EQ(fires_at({5, 5, 9, 5, 5}), -1);    // within the limits between
  EXPECT_EQ(fires_at({5, 5, 9, 5, 5, 5}), 5);  // what was before is forgotten
}

TEST(Confusion, NeverSaysNoIssueWithFewerStepsThanItsPatience) {
  RuleHarness rule("Confusion", {{"patience", "3"}});
  EXPECT_EQ(first_firing(rule, {5, 5}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_EQ(rule.verdict().message,
            "nothing to judge: 2 judged steps are too few; 3 are needed");
}

TEST(Confusion, SaysHowLongTheMatrixHasNotBecomeBetter) {
  RuleHarness rule("Confusion", {{"patience", "3"}});
  EXPECT_EQ(first_firing(rule, {1, 4, 3, 2}), 3);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("; the same holds for 3 judged steps in a row, without "
                        "improvement since step 1"));
}

TEST(Confusion, PassesOverStepsWithoutAClassToJudgeWhenItCountsThem) {
  RuleHarness rule("Confusion", {{"patience", "2"}, {"samples", "10"}});
  EXPECT_FALSE(rule.fires_at(with_right(0, 5)));
  EXPECT_FALSE(rule.fires_at(classified(1, {0, 1}, {1, 0})));
  EXPECT_TRUE(rule.fires_at(with_right(2, 5)));
}

TEST(Confusion, LeavesOutWhatIsNoCategory) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  RuleHarness rule("Confusion", {{"category_no", "2"}});
  EXPECT_FALSE(
      rule.fires_at(classified(0, {0, 1, 2, 0, -1}, {0, 1, 0, nan, 1})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);

  RuleHarness none("Confusion", {{"category_no", "2"}});
  EXPECT_FALSE(none.fires_at(classified(0, {2, 3}, {2, 3})));
  EXPECT_EQ(none.finish().status, RuleStatus::error);
  EXPECT_THAT(none.verdict().message, HasSubstr("classes 0 to 1"));
}

TEST(Confusion, TakesTensorsByNameAndByCollection) {
  RuleHarness rule("Confusion", {{"labels", "y.true"},
                                 {"predictions", "y.hat"},
                                 {"labels_collection", "losses"}});
  // "yxtrue" is not "y.true".
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_values("yxtrue", {0, 1}, {2})
                                 .with_values("y.hat", {1, 0}, {2})));
  EXPECT_TRUE(rule.fires_at(StepBuilder(1)
                                .with_values("y.true", {0, 1}, {2})
                                .with_values("y.hat", {1, 0}, {2})));
  RuleHarness by_collection("Confusion", {{"labels_collection", "losses"}});
  EXPECT_TRUE(
      by_collection.fires_at(StepBuilder(0)
                                 .with_values("a loss", {0, 1}, {2})
                                 .with_values("predictions", {1, 0}, {2})));
}

TEST(Confusion, TakesTheInputsOfALossWhereNothingElseIsThere) {
  RuleHarness rule("Confusion");
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0)
                        .with_values("NLLLoss_input_0", {2, 1, 1, 2}, {2, 2})
                        .with_values("NLLLoss_input_1", {1, 0}, {2})));
}

TEST(Confusion, NeverSaysNoIssueWithoutPredictions) {
  RuleHarness rule("Confusion");
  rule.fires_at(StepBuilder(0).with_values("labels", {0, 1}, {2}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("no predictions were found"));
}

TEST(Confusion, PassesOverTensorsWithoutElements) {
  RuleHarness rule("Confusion");
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
    RuleHarness rule("Confusion",
                     {{"min_diag", "0.7"}, {"max_off_diag", "0.3"}});
    EXPECT_EQ(rule.fires_at(classified(0, labels, predictions)),
              violations > 0);
    EXPECT_EQ(rule.verdict().evidence.size(), violations);
    fired += violations > 0;
  }
  EXPECT_GT(fired, 0);
  EXPECT_LT(fired, 200);
}

// Random trainings, judged a second time by a plain loop over the worst entry
// of each step. The seed is printed.
TEST(Confusion, FiresAtTheSameStepAsAPlainLoop) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::size_t> right(0, 10);
  int fired = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<std::size_t> course(12);
    for (std::size_t& step : course) step = right(random);
    Step expected = -1;
    std::size_t best = 0;
    int in_a_row = 0;
    for (std::size_t i = 0; i < course.size() && expected < 0; ++i) {
      if (course[i] >= 6) {
        in_a_row = 0;
        continue;
      }
      const bool is_better = in_a_row == 0 || course[i] > best;
      if (is_better) best = course[i];
      in_a_row = is_better ? 1 : in_a_row + 1;
      if (in_a_row == 4) expected = Step(i);
    }
    RuleHarness rule(
        "Confusion",
        {{"patience", "4"}, {"min_diag", "0.55"}, {"max_off_diag", "0.45"}});
    EXPECT_EQ(first_firing(rule, course), expected);
    fired += expected >= 0;
  }
  EXPECT_GT(fired, 0);
  EXPECT_LT(fired, 200);
}

}  // namespace
}  // namespace smdebug
