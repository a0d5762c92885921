#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RuleHarness variance_rule(std::map<std::string, std::string> given) {
  given["tensor_regex"] = ".";
  return RuleHarness("TensorVariance", given);
}

TEST(TensorVariance, FiresAboveTheMaximumAndNotAtIt) {
  RuleHarness rule = variance_rule({{"max_threshold", "10"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_statistics("a", statistics_of_variance(10))));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(1).with_statistics("a", statistics_of_variance(10.1))));
}

TEST(TensorVariance, FiresBelowTheMinimumAndNotAtIt) {
  RuleHarness rule = variance_rule({{"min_threshold", "0.25"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0)
                        .with_statistics("a", statistics_of_variance(0.25))
                        .with_statistics("b", statistics_of_variance(1e9))));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(1).with_statistics("a", statistics_of_variance(0.24))));
}

TEST(TensorVariance, NeedsOneOfItsThresholds) {
  const auto rule =
      make_builtin_rule("TensorVariance", {{"tensor_regex", "."}});
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
  EXPECT_THAT(rule.error().message,
              AllOf(HasSubstr("max_threshold"), HasSubstr("min_threshold")));
}

TEST(TensorVariance, SaysWhichTensorIsWorst) {
  RuleHarness rule =
      variance_rule({{"max_threshold", "10"}, {"min_threshold", "1e-5"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(3)
          .with_statistics("Net_fc1.weight",
                           statistics_of_variance(20))  // 2 times
          .with_statistics("Net_fc2.weight",
                           statistics_of_variance(1e-7))  // 100 times
          .with_statistics("Net_fc3.weight", statistics_of_variance(1))));
  EXPECT_EQ(rule.verdict().message,
            "Net_fc2.weight: the variance 1e-07 in layer Net_fc2 is below "
            "1e-05 at step 3 (TRAIN step 3); in the adjacent layers, "
            "Net_fc1.weight has a variance of 20 and Net_fc3.weight has a "
            "variance of 1; 2 tensors of this step are out of bounds");
  EXPECT_EQ(rule.verdict().evidence[1].tensor, "Net_fc1.weight");
  EXPECT_EQ(rule.verdict().evidence[1].relation, ">");
  EXPECT_EQ(rule.verdict().evidence[1].threshold, 10);
}

// As runs of the original have them.
TEST(TensorVariance, WorksFromAReductionOfUnknownShape) {
  RuleHarness rule = variance_rule({{"max_threshold", "4"}});
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0)
                        .with_reductions("a", {{{Reduction::variance}, 4.5}})
                        .of_shape({})));
}

TEST(TensorVariance, WorksFromTheSavedVarianceOrDeviation) {
  RuleHarness by_variance = variance_rule({{"max_threshold", "4"}});
  EXPECT_TRUE(by_variance.fires_at(
      StepBuilder(0).with_reductions("a", {{{Reduction::variance}, 4.5}})));
  RuleHarness by_std = variance_rule({{"max_threshold", "4"}});
  EXPECT_FALSE(by_std.fires_at(
      StepBuilder(0).with_reductions("a", {{{Reduction::std}, 2.0}})));
  EXPECT_TRUE(by_std.fires_at(
      StepBuilder(1).with_reductions("a", {{{Reduction::std}, 2.1}})));
  EXPECT_NEAR(by_std.verdict().evidence.front().value, 4.41, 1e-12);
}

// Against a plain loop over random elements. Seed 3.
TEST(TensorVariance, IsThePopulationVarianceOfTheElements) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(5, 2);
  std::vector<float> values(3000);
  for (float& value : values) value = normal(random);
  long double mean = 0, squares = 0;
  for (float value : values) mean += value / 3000.0L;
  for (float value : values) squares += (value - mean) * (value - mean);
  RuleHarness rule = variance_rule({{"max_threshold", "0.5"}});
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0).with_values("a", values, {30, 100})));
  EXPECT_NEAR(rule.verdict().evidence.front().value, double(squares / 3000),
              1e-9);
}

TEST(TensorVariance, DoesNotJudgeTensorsThatNeedNotVary) {
  RuleHarness rule = variance_rule({{"min_threshold", "0.5"}});
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_values("single", {3}, {1, 1})
                                 .with_scalar("logit_scale", 3)));
  TensorStatistics ones = even_statistics(1);
  ones.min = ones.mean = 1;
  ones.m2 = 0;
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(1).with_statistics("Net_norm.weight", ones)));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(2).with_statistics("Net_fc.weight", ones).of_shape({5, 2})));
}

TEST(TensorVariance, SkipsEmptyTensorsAndLetsNanPass) {
  RuleHarness rule =
      variance_rule({{"max_threshold", "1"}, {"min_threshold", "0.5"}});
  TensorStatistics nan = statistics_of_variance(100);
  nan.count = 11;
  nan.nan = 1;
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_statistics("a", TensorStatistics())
                                 .with_statistics("b", nan)));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
}

}  // namespace
}  // namespace smdebug
