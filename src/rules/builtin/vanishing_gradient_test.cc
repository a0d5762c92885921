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
