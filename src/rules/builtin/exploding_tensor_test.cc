
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TensorStatistics counts(std::uint64_t nan, std::uint64_t positive_inf,
                        std::uint64_t negative_inf) {
  TensorStatistics statistics;
  statistics.count = 640;
  statistics.nan = nan;
  statistics.positive_inf = positive_inf;
  statistics.negative_inf = negative_inf;
  return statistics;
}

TEST(ExplodingTensor, CountsNanAndInfinities) {
  RuleHarness rule("ExplodingTensor");
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(39).with_statistics("a", counts(0, 0, 0))));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(40).with_statistics("a", counts(3, 1, 2))));
  EXPECT_EQ(rule.verdict().message,
            "a: 3 NaN, 1 +inf, 2 -inf in 640 elements at step 40 (TRAIN step "
            "40)");
  EXPECT_EQ(rule.verdict().evidence.front().value, 6);
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(ExplodingTensor, HasNoSeverityUntilItFires) {
  RuleHarness rule("ExplodingTensor");
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(39).with_statistics("a", counts(0, 0, 0))));
  EXPECT_EQ(rule.finish().severity, std::nullopt);
}

TEST(ExplodingTensor, LetsInfinitiesPassWhereOnlyNanCounts) {
  RuleHarness rule("ExplodingTensor", {{"only_nan", "True"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_statistics("a", counts(0, 5, 5))));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(1).with_statistics("a", counts(1, 5, 5))));
  EXPECT_EQ(rule.verdict().evidence.front().value, 1);
}

TEST(ExplodingTensor, NamesTheFirstOffendingIndexWhereValuesAreAtHand) {
  RuleHarness rule("ExplodingTensor");
  EXPECT_TRUE(rule.fires_at(StepBuilder(0).with_values(
      "a", {0, 1, 2, 3, 4, -kInf, kNan, 0}, {2, 2, 2})));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("1 NaN, 0 +inf, 1 -inf in 8 elements"));
  EXPECT_THAT(rule.verdict().message, HasSubstr("the first at [1, 0, 1]"));
}

TEST(ExplodingTensor, LooksForTheFirstNanWhereOnlyNanCounts) {
  RuleHarness rule("ExplodingTensor", {{"only_nan", "true"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0).with_values("a", {kInf, 0, 0, kNan}, {2, 2})));
  EXPECT_THAT(rule.verdict().message, HasSubstr("the first at [1, 1]"));
}

TEST(ExplodingTensor, FindsAnIndexFarIntoALargeTensor) {
  std::vector<float> values(5000, 1.0f);
  values[4321] = kNan;
  RuleHarness rule("ExplodingTensor");
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0).with_values("a", values, {50, 100})));
  EXPECT_THAT(rule.verdict().message, HasSubstr("the first at [43, 21]"));
}

TEST(ExplodingTensor, WorksFromEachReductionThatTells) {
  for (const Reduction reduction :
       {Reduction::mean, Reduction::sum, Reduction::l1, Reduction::l2,
        Reduction::min, Reduction::max}) {
    RuleHarness rule("ExplodingTensor");
    EXPECT_FALSE(rule.fires_at(
        StepBuilder(0).with_reductions("a", {{{reduction, false}, 1.0}})));
    EXPECT_TRUE(rule.fires_at(
        StepBuilder(1).with_reductions("a", {{{reduction, false}, kNan}})))
        << reduction_name(reduction);
    EXPECT_THAT(rule.verdict().message,
                HasSubstr("NaN in the saved " +
                          std::string(reduction_name(reduction))));
  }
}

TEST(ExplodingTensor, DoesNotJudgeByReductionsThatOverflowByThemselves) {
  RuleHarness rule("ExplodingTensor");
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_reductions(
      "a", {{{Reduction::prod, false}, kInf},
            {{Reduction::variance, false}, kInf}})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TEST(ExplodingTensor, SkipsWhatCannotHoldNan) {
  RuleHarness rule("ExplodingTensor");
  for (const DType dtype :
       {DType::int64, DType::boolean, DType::string, DType::bytes}) {
    rule.fires_at(
        StepBuilder(0).with_statistics("a", counts(0, 0, 0)).of_dtype(dtype));
  }
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
}

TEST(ExplodingTensor, JudgesOnlyWhatItsSelectorTakes) {
  RuleHarness rule("ExplodingTensor", {{"collection_names", "losses"},
                                       {"tensor_regex", "_output_\\d$"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_statistics("gradient/a", counts(1, 0, 0))));
  EXPECT_TRUE(rule.fires_at(StepBuilder(1)
                                .with_statistics("fc_output_0", counts(1, 0, 0))
                                .with_statistics("Loss", counts(0, 1, 0))));
  EXPECT_EQ(rule.verdict().evidence.size(), 2u);
}

// Steps 0 and 1 with an infinite gradient; the scale of a gradient scaler, if
// there is one, is known before step `scale_known_at`.
RuleHarness with_infinite_gradients(const char* pass_scaled,
                                    std::optional<Step> scale_known_at) {
  RuleHarness rule("ExplodingTensor", {{"pass_scaled", pass_scaled}});
  for (const Step step : {0, 1}) {
    if (step == scale_known_at) {
      const ScalarSample sample{{0, Mode::train, 0}, 65536};
      const ScalarSeriesView scale{"gradient_scale", {&sample, 1}};
      rule.notes({&scale, 1}, "worker_0");
    }
    rule.fires_at(
        StepBuilder(step).with_statistics("gradient/w", counts(0, 1, 0)));
  }
  return rule;
}

TEST(ExplodingTensor, LetsGradientsPassWhereAScalerSkipsTheUpdate) {
  EXPECT_EQ(with_infinite_gradients("true", 0).finish().status,
            RuleStatus::no_issues_found);
}

TEST(ExplodingTensor, WaitsOneStepForTheScaleOfTheFirst) {
  EXPECT_EQ(with_infinite_gradients("true", 1).finish().status,
            RuleStatus::no_issues_found);
}

TEST(ExplodingTensor, TellsOfGradientsOfTheFirstStepWithoutAScaler) {
  EXPECT_THAT(with_infinite_gradients("true", std::nullopt).finish().message,
              HasSubstr("gradient/w: 0 NaN, 1 +inf, 0 -inf in 640 elements at "
                        "step 0"));
}

TEST(ExplodingTensor, TellsOfTheOnlyStepAtTheEnd) {
  RuleHarness rule("ExplodingTensor", {{"pass_scaled", "true"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_statistics("gradient/w", counts(1, 0, 0))));
  EXPECT_EQ(rule.finish().status, RuleStatus::issues_found);
}

TEST(ExplodingTensor, CountsScaledGradientsAsDocumented) {
  EXPECT_EQ(with_infinite_gradients("false", 0).finish().status,
            RuleStatus::issues_found);
}

TEST(ExplodingTensor, CountsOtherTensorsWhereAScalerIsInUse) {
  RuleHarness rule("ExplodingTensor", {{"pass_scaled", "true"}});
  const ScalarSample sample{{0, Mode::train, 0}, 65536};
  const ScalarSeriesView scale{"gradient_scale", {&sample, 1}};
  rule.notes({&scale, 1}, "worker_0");
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0).with_statistics("w", counts(1, 0, 0))));
}

TEST(ExplodingTensor, LetsLeavesOfTreesHaveNoThreshold) {
  const auto tree = [] {
    return StepBuilder(0)
        .with_statistics("trees/Split", counts(3, 0, 0))
        .with_statistics("trees/Gain", counts(0, 0, 0));
  };
  RuleHarness every("ExplodingTensor");
  EXPECT_FALSE(every.fires_at(tree()));
  EXPECT_EQ(every.verdict().observations_judged, 1u);
  RuleHarness asked("ExplodingTensor", {{"tensor_regex", "^trees/Split$"}});
  EXPECT_TRUE(asked.fires_at(tree()));
}

}  // namespace
}  // namespace smdebug
