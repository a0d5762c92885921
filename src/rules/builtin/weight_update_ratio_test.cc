#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

StepBuilder weight(Step step, std::vector<float> values,
                   const char* name = "Net_fc.weight") {
  const auto size = std::int64_t(values.size());
  StepBuilder observed(step);
  observed.with_values(name, std::move(values), {size});
  return observed;
}

// |W| = 5 before, |change| = 50 and 60: ratios 10 and 12.
TEST(WeightUpdateRatio, FiresAboveTheLargeThreshold) {
  RuleHarness at("WeightUpdateRatio", {{"epsilon", "0"}});
  EXPECT_FALSE(at.fires_at(weight(0, {3, 4})));
  EXPECT_FALSE(at.fires_at(weight(10, {33, 44})));
  RuleHarness above("WeightUpdateRatio", {{"epsilon", "0"}});
  EXPECT_FALSE(above.fires_at(weight(0, {3, 4})));
  EXPECT_TRUE(above.fires_at(weight(10, {39, 52})));
  EXPECT_EQ(above.verdict().message,
            "Net_fc.weight: |update| / |weight| since step 0 of layer Net_fc "
            "is 12, above 10, at step 10 (TRAIN step 10)");
  EXPECT_DOUBLE_EQ(above.verdict().evidence.front().value, 12);
}

TEST(WeightUpdateRatio, PassesOverWhatKerasNormalizationsAddToTheirWeights) {
  const auto fires = [](const char* name) {
    RuleHarness rule("WeightUpdateRatio");
    rule.fires_at(weight(0, {0, 0}, name));
    return rule.fires_at(weight(10, {1, 1}, name));
  };
  EXPECT_FALSE(fires("bn/weights/bn/beta:0"));
  EXPECT_FALSE(fires("bn/weights/bn/moving_mean:0"));
  EXPECT_FALSE(fires("bn/weights/bn/moving_variance:0"));
  EXPECT_TRUE(fires("bn/weights/bn/gamma:0"));
  EXPECT_TRUE(fires("alphabeta/weights/alphabeta/kernel:0"));
}

TEST(WeightUpdateRatio, FiresBelowTheSmallThreshold) {
  RuleHarness rule("WeightUpdateRatio",
                   {{"small_threshold", "0.01"}, {"epsilon", "0"}});
  EXPECT_FALSE(rule.fires_at(weight(0, {100, 0})));
  EXPECT_FALSE(rule.fires_at(weight(1, {101, 0})));
  EXPECT_TRUE(rule.fires_at(weight(2, {102, 0})));  // 1 / 101
  EXPECT_EQ(rule.verdict().evidence.front().relation, "<");
  EXPECT_EQ(rule.verdict().evidence.front().threshold, 0.01);
}

TEST(WeightUpdateRatio, ComparesWithTheStepSavedLastOfWhateverDistance) {
  RuleHarness rule("WeightUpdateRatio", {{"large_threshold", "1.5"}});
  EXPECT_FALSE(rule.fires_at(weight(0, {1})));
  EXPECT_FALSE(rule.fires_at(weight(7, {2})));
  EXPECT_FALSE(rule.fires_at(weight(500, {4})));  // 3 times step 0, 1 of step 7
}

// Saved at 0, 4, 8, 12: with num_steps 9, step 12 is compared with 4.
TEST(WeightUpdateRatio, ComparesWithTheOldestSavedWithinNumSteps) {
  RuleHarness rule("WeightUpdateRatio",
                   {{"num_steps", "9"}, {"large_threshold", "5.5"}});
  EXPECT_FALSE(rule.fires_at(weight(0, {1})));
  EXPECT_FALSE(rule.fires_at(weight(4, {2})));
  EXPECT_FALSE(rule.fires_at(weight(8, {6})));   // 5 since step 0
  EXPECT_TRUE(rule.fires_at(weight(12, {14})));  // 6 since step 4
  EXPECT_THAT(rule.verdict().message, HasSubstr("since step 4"));
  EXPECT_NEAR(rule.verdict().evidence.front().value, 6, 1e-6);
}

TEST(WeightUpdateRatio, SaysThatNoTwoStepsLieWithinNumSteps) {
  RuleHarness rule("WeightUpdateRatio", {{"num_steps", "9"}});
  rule.fires_at(weight(0, {1}));
  rule.fires_at(weight(10, {100}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("num_steps")));
}

TEST(WeightUpdateRatio, IsDefinedForWeightsOfZero) {
  RuleHarness rule("WeightUpdateRatio", {{"epsilon", "0.5"}});
  EXPECT_FALSE(rule.fires_at(weight(0, {0, 0})));
  EXPECT_FALSE(rule.fires_at(weight(1, {3, 4})));  // 5 / 0.5 = 10
  RuleHarness smaller("WeightUpdateRatio", {{"epsilon", "0.4"}});
  EXPECT_FALSE(smaller.fires_at(weight(0, {0, 0})));
  EXPECT_TRUE(smaller.fires_at(weight(1, {3, 4})));
  EXPECT_DOUBLE_EQ(smaller.verdict().evidence.front().value, 12.5);
}

TEST(WeightUpdateRatio, LetsAFrozenLayerPassBesideOneThatLearns) {
  const auto both = [](Step step, float learning) {
    StepBuilder observed = weight(step, {1, 2}, "Net_frozen.weight");
    observed.with_values("Net_fc.weight", {learning, 1}, {2});
    return observed;
  };
  RuleHarness rule("WeightUpdateRatio");
  EXPECT_FALSE(rule.fires_at(both(0, 1)));
  EXPECT_FALSE(rule.fires_at(both(1, 1.1f)));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("not judged: 1 of 2 weights"),
                    HasSubstr("Net_frozen.weight")));
  RuleHarness strict("WeightUpdateRatio", {{"skip_frozen", "no"}});
  EXPECT_FALSE(strict.fires_at(both(0, 1)));
  EXPECT_TRUE(strict.fires_at(both(1, 1.1f)));
  EXPECT_EQ(strict.verdict().evidence.front().tensor, "Net_frozen.weight");
}

TEST(WeightUpdateRatio, DoesNotTakeAWeightWithAGradientForFrozen) {
  const auto both = [](Step step, float learning, const char* gradient) {
    StepBuilder observed = weight(step, {1, 2}, "Net_stuck.weight");
    observed.with_values("Net_fc.weight", {learning, 1}, {2});
    observed.with_scalar(gradient, 1);
    return observed;
  };
  RuleHarness rule("WeightUpdateRatio");
  rule.fires_at(both(0, 1, "gradient/Net_stuck.weight"));
  EXPECT_TRUE(rule.fires_at(both(1, 1.1f, "gradient/Net_stuck.weight")));
  EXPECT_EQ(rule.verdict().evidence.front().tensor, "Net_stuck.weight");
  RuleHarness other("WeightUpdateRatio");
  other.fires_at(both(0, 1, "gradient/Net_fc.weight"));
  EXPECT_FALSE(other.fires_at(both(1, 1.1f, "gradient/Net_fc.weight")));
}

TEST(WeightUpdateRatio, FiresIfNoWeightOfTheModelMoves) {
  RuleHarness rule("WeightUpdateRatio");
  EXPECT_FALSE(rule.fires_at(weight(0, {1, 2})));
  EXPECT_TRUE(rule.fires_at(weight(1, {1, 2})));
  EXPECT_EQ(rule.verdict().evidence.front().value, 0);
}

TEST(WeightUpdateRatio, LooksAtStepsThatTrain) {
  RuleHarness rule("WeightUpdateRatio");
  const auto at = [](StepId step) {
    StepBuilder observed(step);
    observed.with_values("fc.weight", {1, 2}, {2});
    return observed;
  };
  EXPECT_FALSE(rule.fires_at(at({0, Mode::train, 0})));
  EXPECT_FALSE(rule.fires_at(at({1, Mode::eval, 0})));
  EXPECT_FALSE(rule.fires_at(at({2, Mode::eval, 1})));
  EXPECT_TRUE(rule.fires_at(at({3, Mode::train, 1})));
}

TEST(WeightUpdateRatio, SkipsIntegersEmptyTensorsNanAndNewShapes) {
  RuleHarness rule("WeightUpdateRatio");
  for (Step step = 0; step < 2; ++step) {
    StepBuilder observed(step);
    observed.with_values("count.weight", {1}, {1}).of_dtype(DType::int64);
    observed.with_values("none.weight", {}, {0});
    observed.with_nothing("gone.weight");
    EXPECT_FALSE(rule.fires_at(observed));
  }
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
  EXPECT_FALSE(rule.fires_at(weight(2, {1, 2})));
  EXPECT_FALSE(rule.fires_at(weight(3, {1, 2, 3})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
  EXPECT_FALSE(rule.fires_at(weight(4, {1, kNan, 3})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
}

// Against long double sums, over more elements than one block. Seed 11.
TEST(WeightUpdateRatio, IsTheRatioOfTheNorms) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> before(5000), after(5000);
  long double change = 0, norm = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    before[i] = normal(random);
    after[i] = before[i] + 0.1f * normal(random);
    const long double apart = (long double)(after[i]) - before[i];
    change += apart * apart;
    norm += (long double)(before[i]) * before[i];
  }
  RuleHarness rule("WeightUpdateRatio", {{"large_threshold", "0.01"}});
  rule.fires_at(weight(0, before));
  EXPECT_TRUE(rule.fires_at(weight(1, after)));
  EXPECT_NEAR(rule.verdict().evidence.front().value,
              double(std::sqrt(change) / (std::sqrt(norm) + 1e-9L)), 1e-12);
}

TEST(WeightUpdateRatio, ListsAllOffendersWorstFirst) {
  RuleHarness rule("WeightUpdateRatio", {{"large_threshold", "1"}});
  const auto three = [](Step step, float a, float b, float c) {
    StepBuilder observed(step);
    observed.with_values("a.weight", {a}, {1});
    observed.with_values("b.weight", {b}, {1});
    observed.with_values("c.weight", {c}, {1});
    return observed;
  };
  rule.fires_at(three(0, 1, 1, 1));
  EXPECT_TRUE(rule.fires_at(three(1, 3, 9, 1.5f)));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "b.weight");
  EXPECT_THAT(rule.verdict().message, HasSubstr("2 of 3 weights"));
}

}  // namespace
}  // namespace smdebug
