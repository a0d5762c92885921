#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TEST(VanishingGradient, FiresBelowTheThresholdAndNotAtIt) {
  RuleHarness rule("VanishingGradient", {{"threshold", "0.25"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_statistics("gradient/a", even_statistics(0.25))));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(10).with_statistics("gradient/a", even_statistics(0.249))));
}

TEST(VanishingGradient, SaysWhichTensorAtWhichStepAndWhy) {
  RuleHarness rule("VanishingGradient");
  rule.fires_at(
      StepBuilder({40, Mode::train, 30})
          .with_statistics("gradient/Net_0.weight", even_statistics(3.2e-9)));
  EXPECT_EQ(rule.verdict().message,
            "gradient/Net_0.weight: mean |g| 3.2e-09 is below 1e-07 at step 40 "
            "(TRAIN step 30)");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("no longer learn"));
  EXPECT_EQ(rule.verdict().step, (StepId{40, Mode::train, 30}));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  const Evidence& evidence = rule.verdict().evidence.front();
  EXPECT_EQ(evidence.tensor, "gradient/Net_0.weight");
  EXPECT_EQ(evidence.worker, "worker_0");
  EXPECT_EQ(evidence.quantity, "mean |g|");
  EXPECT_DOUBLE_EQ(evidence.value, 3.2e-9);
  EXPECT_EQ(evidence.relation, "<");
  EXPECT_EQ(evidence.threshold, 1e-7);
}

TEST(VanishingGradient, ListsEveryOffenderOfTheStepWorstFirst) {
  RuleHarness rule("VanishingGradient");
  rule.fires_at(StepBuilder(7)
                    .with_statistics("gradient/a", even_statistics(1e-9))
                    .with_statistics("gradient/b", even_statistics(1))
                    .with_statistics("gradient/c", even_statistics(1e-11)));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "gradient/c");
  EXPECT_EQ(rule.verdict().evidence[1].tensor, "gradient/a");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("this applies to 2 of 3 gradients of this step"));
}

TEST(VanishingGradient, WorksFromASavedReductionAlone) {
  RuleHarness rule("VanishingGradient");
  EXPECT_TRUE(rule.fires_at(StepBuilder(0).with_reductions(
      "gradient/a",
      {{{Reduction::max, true}, 1.0}, {{Reduction::mean, true}, 1e-8}})));
}

TEST(VanishingGradient, WorksFromValuesAlone) {
  RuleHarness rule("VanishingGradient", {{"threshold", "2"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_values("gradient/a", {-1, 3, -2, 2}, {2, 2})));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(1).with_values("gradient/a", {-1, 2, -2, 2}, {2, 2})));
  EXPECT_DOUBLE_EQ(rule.verdict().evidence.front().value, 1.75);
}

TEST(VanishingGradient, LeavesNanToExplodingTensor) {
  TensorStatistics statistics = even_statistics(1e-9);
  statistics.nan = 1;
  RuleHarness rule("VanishingGradient");
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_statistics("gradient/a", statistics)));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(VanishingGradient, SkipsGradientsWithoutElements) {
  RuleHarness rule("VanishingGradient");
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_statistics("gradient/a", {})
                                 .with_values("gradient/b", {}, {0})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
}

TEST(VanishingGradient, WaitsForAllWhereAllMustVanish) {
  RuleHarness rule("VanishingGradient", {{"aggregate", "all"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0)
                        .with_statistics("gradient/a", even_statistics(1e-9))
                        .with_statistics("gradient/b", even_statistics(1))));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(1)
                        .with_statistics("gradient/a", even_statistics(1e-9))
                        .with_statistics("gradient/b", even_statistics(1e-9))));
}

TEST(VanishingGradient, WaitsForTheFractionThatWasAskedFor) {
  RuleHarness rule("VanishingGradient", {{"aggregate", "fraction:0.5"}});
  StepBuilder third(0);
  third.with_statistics("gradient/a", even_statistics(1e-9))
      .with_statistics("gradient/b", even_statistics(1))
      .with_statistics("gradient/c", even_statistics(1));
  EXPECT_FALSE(rule.fires_at(third));
  StepBuilder half(1);
  half.with_statistics("gradient/a", even_statistics(1e-9))
      .with_statistics("gradient/b", even_statistics(1));
  EXPECT_TRUE(rule.fires_at(half));
}

// The steps of a training whose gradients have these mean absolute values, one
// row for each saved step. Returns the step at which the tuned rule fires, -1
// if it does not.
Step tuned_fires_at(const std::vector<std::string>& gradients,
                    const std::vector<std::vector<double>>& means) {
  RuleHarness rule("VanishingGradient", {{"preset", "tuned"}});
  for (std::size_t row = 0; row < means.size(); ++row) {
    StepBuilder step(Step(10 * row));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      step.with_statistics("gradient/" + gradients[i],
                           even_statistics(means[row][i]));
    }
    if (rule.fires_at(step)) return Step(10 * row);
  }
  return -1;
}

TEST(VanishingGradient, FiresTunedOnceAGradientHasStayedSmall) {
  EXPECT_EQ(
      tuned_fires_at(
          {"a.weight", "b.weight"},
          {{1e-9, 0.1}, {3e-9, 0.2}, {4e-10, 0.1}, {0, 0.1}, {2e-9, 0.3}}),
      40);
}

TEST(VanishingGradient, SaysForHowLongAGradientWasSmall) {
  RuleHarness rule("VanishingGradient", {{"patience", "20"}});
  for (const Step step : {0, 10, 20}) {
    rule.fires_at(
        StepBuilder(step).with_statistics("gradient/a", even_statistics(1e-9)));
  }
  EXPECT_EQ(rule.verdict().message,
            "gradient/a: mean |g| 1e-09 is below 1e-07 at step 20 (TRAIN step "
            "20), as in the 20 steps before it");
}

TEST(VanishingGradient, NeverSaysNoIssueInFewerStepsThanItsPatience) {
  RuleHarness rule("VanishingGradient", {{"patience", "20"}});
  for (const Step step : {5, 10, 24}) {
    rule.fires_at(
        StepBuilder(step).with_statistics("gradient/a", even_statistics(1e-9)));
  }
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_EQ(rule.verdict().message,
            "nothing to judge: 20 steps are too few; 21 are needed");
}

TEST(VanishingGradient, WaitsForStepsHoweverManyOfThemWereSaved) {
  RuleHarness rule("VanishingGradient", {{"patience", "10"}});
  const auto step = [](Step number, StepPhase phase) {
    return StepBuilder(number)
        .with_statistics("gradient/a", even_statistics(1e-9))
        .in_phase(phase);
  };
  EXPECT_FALSE(rule.fires_at(step(0, StepPhase::before_update)));
  for (const Step saved : {0, 1, 2, 3, 4}) {
    EXPECT_FALSE(rule.fires_at(step(saved, StepPhase::complete)));
  }
  EXPECT_TRUE(rule.fires_at(step(10, StepPhase::before_update)));
}

TEST(VanishingGradient, PassesTunedAFactorBehindOneThatStartsAtZero) {
  EXPECT_EQ(tuned_fires_at({"lora_A", "lora_B"}, {{0, 0.1},
                                                  {3e-6, 0.1},
                                                  {1e-5, 0.1},
                                                  {2e-5, 0.1},
                                                  {5e-5, 0.1},
                                                  {6e-5, 0.1}}),
            -1);
}

// Warm-up and a low rate: the gradient stays below the threshold, but grows.
TEST(VanishingGradient, PassesTunedAGradientOnItsWayUp) {
  EXPECT_EQ(tuned_fires_at({"a.weight", "head.weight"}, {{0, 0.01},
                                                         {5e-9, 0.01},
                                                         {1.6e-8, 0.01},
                                                         {4.4e-8, 0.01},
                                                         {8.2e-8, 0.01},
                                                         {9e-8, 0.01},
                                                         {1.2e-7, 0.01},
                                                         {3e-7, 0.01}}),
            -1);
}

TEST(VanishingGradient, PassesTunedAnExpertThatSomeBatchesDoNotUse) {
  EXPECT_EQ(tuned_fires_at({"expert.weight", "gate.weight"}, {{0, 0.1},
                                                              {0, 0.1},
                                                              {0.2, 0.1},
                                                              {0, 0.1},
                                                              {0, 0.1},
                                                              {0, 0.1},
                                                              {0.1, 0.1},
                                                              {0, 0.1}}),
            -1);
}

TEST(VanishingGradient, PassesTunedTheGradientsOfAMinimum) {
  std::vector<std::vector<double>> means;
  for (int row = 0; row < 20; ++row) {
    const double residual = std::pow(0.1, row);
    means.push_back({0.02 * residual, 0.1 * residual});
  }
  EXPECT_EQ(tuned_fires_at({"a.weight", "b.weight"}, means), -1);
}

TEST(VanishingGradient, FiresTunedIfOnlySomeGradientsBecomeSmall) {
  EXPECT_EQ(tuned_fires_at({"a.weight", "b.weight"}, {{0.02, 0.1},
                                                      {1e-9, 0.05},
                                                      {1e-9, 0.05},
                                                      {1e-9, 0.05},
                                                      {1e-9, 0.05},
                                                      {1e-9, 0.05}}),
            50);
}

TEST(VanishingGradient, FiresTunedIfAllGradientsBecomeZero) {
  const std::vector<double> none = {0, 0};
  EXPECT_EQ(tuned_fires_at({"a.weight", "b.weight"},
                           {{0.02, 0.1}, none, none, none, none, none}),
            50);
}

TEST(VanishingGradient, PassesTunedABiasBeforeANormalization) {
  const std::vector<double> means = {1e-3, 1e-10, 2e-3, 3e-10};
  EXPECT_EQ(tuned_fires_at({"a.weight", "a.bias", "b.weight", "b.bias"},
                           {means, means, means, means, means, means}),
            -1);
}

TEST(VanishingGradient, FiresTunedOnWeightsThatGetNoInput) {
  const std::vector<double> means = {0, 1e-3};
  EXPECT_EQ(tuned_fires_at({"a.weight", "a.bias"},
                           {means, means, means, means, means}),
            40);
}

// The layer of the large gradient vanishes as well.
TEST(VanishingGradient, FiresTunedOnALayerWithoutALargeGradient) {
  const std::vector<double> means = {5e-8, 1e-11, 0.1};
  EXPECT_EQ(tuned_fires_at({"a.weight", "a.bias", "b.weight"},
                           {means, means, means, means, means}),
            40);
}

TEST(VanishingGradient, FiresTunedIfGradientsFadeFromLayerToLayer) {
  const std::vector<double> means = {1e-6, 4e-6, 1e-3, 1e-2, 0.05, 0.1};
  EXPECT_EQ(tuned_fires_at({"a.weight", "b.weight", "c.weight", "d.weight",
                            "e.weight", "f.weight"},
                           {means, means, means, means, means}),
            40);
}

TEST(VanishingGradient, SaysThatAGradientIsSmallForItsShape) {
  RuleHarness rule("VanishingGradient", {{"relative_threshold", "0.01"}});
  StepBuilder step(3);
  for (const double mean : {0.25, 0.001, 0.5, 0.25}) {
    step.with_statistics(fmt::format("gradient/of_{}", mean),
                         even_statistics(mean));
  }
  ASSERT_TRUE(rule.fires_at(step));
  EXPECT_THAT(rule.verdict().message,
              testing::StartsWith(
                  "gradient/of_0.001: mean |g| 0.001 is below 0.005, 0.01 "
                  "times the largest gradient of its shape, at step 3"));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_DOUBLE_EQ(*rule.verdict().evidence[0].threshold, 0.005);
}

TEST(VanishingGradient, ComparesOnlyGradientsOfTheSameShapeAndWorker) {
  RuleHarness rule("VanishingGradient", {{"relative_threshold", "0.01"}});
  for (int odd_one = 0; odd_one < 2; ++odd_one) {
    StepBuilder step(odd_one);
    for (const char* name : {"gradient/a", "gradient/b", "gradient/c"}) {
      step.with_statistics(name, even_statistics(0.5));
    }
    step.with_statistics("gradient/d", even_statistics(0.001));
    if (odd_one == 0) step.of_shape({5, 2});
    if (odd_one == 1) step.from_worker("worker_1");
    EXPECT_FALSE(rule.fires_at(step)) << odd_one;
  }
}

TEST(VanishingGradient, PassesTunedABiasBeforeANormalizationAmongManyBiases) {
  const std::vector<double> means = {1e-3, 1e-6, 2e-3, 1e-6,
                                     2e-2, 1e-6, 2e-2, 5e-2};
  EXPECT_EQ(tuned_fires_at({"a.weight", "a.bias", "b.weight", "b.bias",
                            "c.weight", "c.bias", "d.weight", "d.bias"},
                           {means, means, means, means, means, means}),
            -1);
}

TEST(VanishingGradient, JudgesTunedEachWorkerByItsOwnGradients) {
  RuleHarness rule("VanishingGradient", {{"preset", "tuned"}});
  for (Step step = 0; step < 100; step += 10) {
    const double residual = std::pow(0.1, double(step) / 5);
    EXPECT_FALSE(rule.fires_at(
        StepBuilder(step)
            .with_statistics("gradient/a", even_statistics(residual))
            .with_statistics("gradient/a", even_statistics(0.1))
            .from_worker("worker_1")));
  }
}

TEST(VanishingGradient, RefusesAnAggregateThatMakesNoSense) {
  for (const char* text : {"some", "fraction:", "fraction:0", "fraction:1.5",
                           "fraction:0.5x", "fraction:nan"}) {
    const auto rule =
        make_builtin_rule("VanishingGradient", {{"aggregate", text}});
    ASSERT_FALSE(rule.ok()) << text;
    EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
    EXPECT_THAT(rule.error().message, HasSubstr(text));
  }
}

}  // namespace
}  // namespace smdebug
