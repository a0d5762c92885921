#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

StepBuilder loss_at(Step step, double value) {
  return StepBuilder(step).with_scalar("Loss_output_0", value);
}

TEST(LossNotDecreasing, ComparesTheStepsOfTheDocumentedExample) {
  // Saved every 3 steps, num_steps 10: 21 against 9, then 33 against 21. The
  // loss halves at every save, so only a wrong pair of steps could fire.
  const auto halved = [](Step step) { return std::ldexp(1.0, -int(step) / 3); };

  RuleHarness until_21("LossNotDecreasing");
  for (Step step = 9; step < 21; step += 3) {
    EXPECT_FALSE(until_21.fires_at(loss_at(step, 5.0))) << step;
  }
  EXPECT_TRUE(until_21.fires_at(loss_at(21, 5.0)));
  EXPECT_THAT(until_21.verdict().message, HasSubstr("12 steps before"));

  RuleHarness until_33("LossNotDecreasing");
  for (Step step = 9; step <= 21; step += 3) {
    EXPECT_FALSE(until_33.fires_at(loss_at(step, halved(step)))) << step;
  }
  for (Step step = 24; step < 33; step += 3) {
    EXPECT_FALSE(until_33.fires_at(loss_at(step, halved(21)))) << step;
  }
  EXPECT_TRUE(until_33.fires_at(loss_at(33, halved(21))));
}

// Feeds a loss of `before` and, 10 steps later, of `now`.
bool fires_from_to(double before, double now,
                   const std::map<std::string, std::string>& given = {}) {
  RuleHarness rule("LossNotDecreasing", given);
  rule.fires_at(loss_at(0, before));
  return rule.fires_at(loss_at(10, now));
}

TEST(LossNotDecreasing, FiresOnALossThatFallsByTooLittle) {
  EXPECT_TRUE(fires_from_to(100, 100));
  EXPECT_TRUE(fires_from_to(100, 99.95));
  EXPECT_FALSE(fires_from_to(100, 99.5));
  EXPECT_TRUE(fires_from_to(100, 99.5, {{"diff_percent", "1"}}));
  EXPECT_TRUE(fires_from_to(-100, -100));
  EXPECT_FALSE(fires_from_to(-100, -101));
}

TEST(LossNotDecreasing, LetsALossRiseByALittle) {
  EXPECT_FALSE(fires_from_to(100, 104));
  EXPECT_TRUE(fires_from_to(100, 106));
  EXPECT_FALSE(fires_from_to(100, 106, {{"increase_threshold_percent", "7"}}));
  EXPECT_FALSE(fires_from_to(-100, -96));
  EXPECT_TRUE(fires_from_to(-100, -94));
}

TEST(LossNotDecreasing, DoesNotLetItRiseWhereItIsStrict) {
  EXPECT_TRUE(fires_from_to(100, 104, {{"strict", "true"}}));
  EXPECT_FALSE(fires_from_to(100, 99, {{"strict", "true"}}));
}

TEST(LossNotDecreasing, TakesALossThatStaysAtZeroForStuck) {
  EXPECT_TRUE(fires_from_to(0, 0));
  EXPECT_TRUE(fires_from_to(0, 1));
  EXPECT_FALSE(fires_from_to(0, -1));
}

TEST(LossNotDecreasing, FiresAtOnceOnALossThatIsNan) {
  RuleHarness rule("LossNotDecreasing");
  EXPECT_TRUE(rule.fires_at(loss_at(3, std::nan(""))));
  EXPECT_THAT(rule.verdict().message, HasSubstr("the loss is not finite"));
}

TEST(LossNotDecreasing, JudgesTrainingStepsUnlessAskedForOthers) {
  const auto feed = [](RuleHarness& rule, Mode mode) {
    rule.fires_at(StepBuilder({0, mode, 0}).with_scalar("Loss_output_0", 1.0));
    return rule.fires_at(
        StepBuilder({10, mode, 10}).with_scalar("Loss_output_0", 1.0));
  };
  RuleHarness plain("LossNotDecreasing");
  EXPECT_FALSE(feed(plain, Mode::eval));
  RuleHarness without_modes("LossNotDecreasing");
  EXPECT_TRUE(feed(without_modes, Mode::global));
  RuleHarness eval("LossNotDecreasing", {{"mode", "eval"}});
  EXPECT_TRUE(feed(eval, Mode::eval));
  RuleHarness global("LossNotDecreasing", {{"mode", "GLOBAL"}});
  EXPECT_TRUE(feed(global, Mode::eval));
}

TEST(LossNotDecreasing, CountsStepsOfItsMode) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(StepBuilder({0, Mode::train, 0}).with_scalar("Loss", 1.0));
  EXPECT_FALSE(
      rule.fires_at(StepBuilder({90, Mode::train, 9}).with_scalar("Loss", 1)));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder({95, Mode::train, 10}).with_scalar("Loss", 1)));
}

TEST(LossNotDecreasing, KeepsTheLossesOfTwoWorkersApart) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(StepBuilder(0)
                    .with_scalar("Loss", 2.0)
                    .from_worker("worker_0")
                    .with_scalar("Loss", 9.0)
                    .from_worker("worker_1"));
  EXPECT_TRUE(rule.fires_at(StepBuilder(10)
                                .with_scalar("Loss", 1.0)
                                .from_worker("worker_0")
                                .with_scalar("Loss", 9.0)
                                .from_worker("worker_1")));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence.front().worker, "worker_1");
  EXPECT_THAT(rule.verdict().message, HasSubstr("Loss (worker_1):"));
}

TEST(LossNotDecreasing, SkipsALossOfSeveralElementsUnlessAskedForItsMean) {
  TensorStatistics statistics;
  statistics.count = 4;
  statistics.mean = statistics.min = statistics.max = 1;
  statistics.sum_abs = statistics.sum_squares = 4;
  for (const bool use_mean : {false, true}) {
    RuleHarness rule("LossNotDecreasing",
                     {{"use_mean", use_mean ? "true" : "false"}});
    rule.fires_at(StepBuilder(0).with_statistics("Loss", statistics));
    EXPECT_EQ(
        rule.fires_at(StepBuilder(10).with_statistics("Loss", statistics)),
        use_mean);
  }
}

TEST(LossNotDecreasing, AveragesAgainstTheNoiseOfSmallBatches) {
  // 1.0 and 1.2 in turn, falling by 0.01 per save: single losses rise by 20 %,
  // their averages fall.
  RuleHarness single("LossNotDecreasing");
  RuleHarness averaged("LossNotDecreasing", {{"average", "2"}});
  bool single_fired = false;
  for (Step i = 0; i < 20; ++i) {
    const double value = 2.0 - 0.01 * double(i) + (i % 2 ? 0.2 : 0.0);
    single_fired |= single.fires_at(loss_at(10 * i, value));
    EXPECT_FALSE(averaged.fires_at(loss_at(10 * i, value))) << i;
  }
  EXPECT_TRUE(single_fired);
}

TEST(LossNotDecreasing, ReadsALossFromValues) {
  RuleHarness rule("LossNotDecreasing");
  rule.fires_at(StepBuilder(0).with_values("Loss", {2.0f}, {}));
  EXPECT_TRUE(rule.fires_at(StepBuilder(10).with_values("Loss", {2.0f}, {})));
}

TEST(LossNotDecreasing, RefusesToJudgeNothing) {
  const auto rule =
      make_builtin_rule("LossNotDecreasing", {{"use_losses_collection", "no"}});
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
}

TEST(LossNotDecreasing, FiresForALossThatStandsStillWhateverItsMeanRoundsTo) {
  // 30 times 0.1 / 30, added up, is above 0.1 for some of these.
  for (const double loss : {0.1, 0.6563956, 0.6638, 1.1, 3.3}) {
    RuleHarness rule(
        "LossNotDecreasing",
        {{"average", "100"}, {"num_steps", "200"}, {"diff_percent", "0.0001"}});
    bool fired = false;
    for (Step step = 0; step <= 200; step += 10) {
      fired |= rule.fires_at(StepBuilder(step).with_scalar("Loss", loss));
    }
    EXPECT_TRUE(fired) << loss;
  }
}

}  // namespace
}  // namespace smdebug
