#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRule = "PoorWeightInitialization";

StepBuilder inputs(Step step, double first, double second) {
  StepBuilder observed(step);
  observed.with_statistics("layer1.relu_input_0",
                           statistics_of_variance(first));
  observed.with_statistics("layer2.relu_input_0",
                           statistics_of_variance(second));
  return observed;
}

// 0, 1, ..., 20 times `scale`: the 95th percentile is 19, the 5th 1.
std::vector<float> ramp(float scale) {
  std::vector<float> values;
  for (int i = 0; i <= 20; ++i) values.push_back(scale * float(i));
  return values;
}

TEST(PoorWeightInitialization, FiresIfActivationInputsVaryVeryDifferently) {
  RuleHarness rule(kRule);
  EXPECT_FALSE(rule.fires_at(inputs(0, 1, 10)));
  EXPECT_TRUE(rule.fires_at(inputs(1, 1, 10.5)));
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("layer2.relu_input_0: the variance 10 of the "
                              "input of layer layer2.relu"),
                    HasSubstr("that of layer layer1.relu, more than 10 times"),
                    HasSubstr("at step 1 (TRAIN step 1), saved step 2"),
                    HasSubstr("not judged: the spread of the gradients"),
                    HasSubstr("the loss (none was saved)")));
  EXPECT_DOUBLE_EQ(rule.verdict().evidence.front().value, 10.5);
}

TEST(PoorWeightInitialization, TakesAConstantInputBesideALiveOneForInfinite) {
  RuleHarness rule(kRule);
  EXPECT_FALSE(rule.fires_at(inputs(0, 0, 0)));
  EXPECT_TRUE(rule.fires_at(inputs(1, 0, 1e-6)));
  EXPECT_EQ(rule.verdict().evidence.front().value,
            std::numeric_limits<double>::infinity());
}

TEST(PoorWeightInitialization, NeedsTwoActivationInputs) {
  RuleHarness rule(kRule);
  rule.fires_at(StepBuilder(0).with_statistics("relu_input_0",
                                               statistics_of_variance(5)));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("fewer than two"),
                    HasSubstr("gradient"), HasSubstr("loss")));
}

TEST(PoorWeightInitialization, HasAThresholdForTheVariances) {
  RuleHarness rule(kRule, {{"threshold", "3"}});
  EXPECT_FALSE(rule.fires_at(inputs(0, 1, 3)));
  EXPECT_TRUE(rule.fires_at(inputs(1, 3.1, 1)));
}

TEST(PoorWeightInitialization, FiresIfAGradientHasNextToNoSpread) {
  const auto fires = [](float scale, const char* range) {
    RuleHarness rule(kRule, {{"distribution_range", range}});
    return rule.fires_at(StepBuilder(0)
                             .with_values("gradient/a", ramp(1000), {21})
                             .with_values("gradient/b", ramp(scale), {3, 7}));
  };
  EXPECT_FALSE(fires(0.5f, "9"));  // 18 * 0.5
  EXPECT_TRUE(fires(0.5f, "9.001"));
}

TEST(PoorWeightInitialization, NamesTheGradientWithTheLeastSpread) {
  RuleHarness rule(kRule);
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0)
                        .with_values("gradient/Net_a.weight", ramp(1e-5f), {21})
                        .with_values("gradient/Net_b.weight", ramp(1e-6f), {21})
                        .with_values("gradient/Net_c.bias", {1e-9f}, {1})));
  EXPECT_THAT(
      rule.verdict().message,
      HasSubstr("gradient/Net_b.weight: the middle 90 % of the gradient "
                "of layer Net_b span 1.8e-05, less than 0.001"));
}

TEST(PoorWeightInitialization, JudgesAGradientByItsBoundsWhereTheyTell) {
  TensorStatistics narrow;
  narrow.count = 100;
  narrow.max = 0.0005;
  TensorStatistics wide = narrow;
  wide.max = 3;
  RuleHarness rule(kRule);
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_statistics("gradient/a", wide)));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(1).with_statistics("gradient/a", narrow)));
}

TEST(PoorWeightInitialization, LeavesNanAndEmptyTensorsAlone) {
  RuleHarness rule(kRule);
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0)
                        .with_values("gradient/a", {kNan, 0, 0, 0}, {4})
                        .with_values("gradient/b", {}, {0})
                        .with_values("a.relu_input_0", {kNan, 1}, {2})
                        .with_values("b.relu_input_0", {5, 1000}, {2})
                        .with_values("c.relu_input_0", {}, {0})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
}

TEST(PoorWeightInitialization, FiresIfTheLossStandsStillForPatience) {
  RuleHarness rule(kRule, {{"patience", "3"}});
  const double losses[] = {2, 1, 1.5, 1.0};
  for (Step step = 0; step < 4; ++step) {
    EXPECT_FALSE(
        rule.fires_at(StepBuilder(step).with_scalar("Loss", losses[step])));
  }
  EXPECT_TRUE(rule.fires_at(StepBuilder(4).with_scalar("Loss", 1.2)));
  EXPECT_EQ(rule.verdict().evidence.front().value, 3);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("Loss: the loss 1.2 was not below 1 for 3 saved steps, "
                        "at least 3"));
}

TEST(PoorWeightInitialization, LetsALossPassThatStillFallsNowAndThen) {
  RuleHarness rule(kRule, {{"patience", "3"}, {"steps", "100"}});
  for (Step step = 0; step < 30; ++step) {
    const double loss = step % 3 == 0 ? 10.0 - 0.1 * double(step) : 20;
    EXPECT_FALSE(rule.fires_at(StepBuilder(step).with_scalar("Loss", loss)));
  }
}

TEST(PoorWeightInitialization, JudgesOnlyTheFirstSteps) {
  RuleHarness rule(kRule, {{"steps", "3"}});
  for (Step step = 0; step < 3; ++step) {
    EXPECT_FALSE(rule.fires_at(inputs(step, 1, 2)));
  }
  EXPECT_FALSE(rule.fires_at(inputs(3, 1, 1e6)));
  RuleHarness other(kRule, {{"steps", "4"}});
  for (Step step = 0; step < 3; ++step) other.fires_at(inputs(step, 1, 2));
  EXPECT_TRUE(other.fires_at(inputs(3, 1, 1e6)));
}

TEST(PoorWeightInitialization, CountsStepsThatTrain) {
  RuleHarness rule(kRule, {{"steps", "1"}});
  for (Step step = 0; step < 4; ++step) {
    StepBuilder evaluation({step, Mode::eval, step});
    evaluation.with_statistics("a.relu_input_0", statistics_of_variance(1));
    evaluation.with_statistics("b.relu_input_0", statistics_of_variance(1e6));
    EXPECT_FALSE(rule.fires_at(evaluation));
  }
  EXPECT_TRUE(rule.fires_at(inputs(4, 1, 1e6)));
}

TEST(PoorWeightInitialization, TakesOtherActivations) {
  RuleHarness rule(kRule, {{"activation_inputs_regex", "_act_"}});
  rule.in_a_run_with({{"relu_input", {}, {"1_input_0"}}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0)
          .with_statistics("a_act_0", statistics_of_variance(1))
          .with_statistics("b.relu_input_0", statistics_of_variance(99))
          .with_statistics("1_input_0", statistics_of_variance(99))));
  RuleHarness standard(kRule);
  standard.in_a_run_with({{"relu_input", {}, {"1_input_0"}}});
  EXPECT_TRUE(standard.fires_at(
      StepBuilder(0)
          .with_statistics("b.relu_input_0", statistics_of_variance(1))
          .with_statistics("1_input_0", statistics_of_variance(99))));
}

TEST(PoorWeightInitialization, SaysEverythingThatIsWrongWorstFirst) {
  RuleHarness rule(kRule);
  StepBuilder step = inputs(0, 1, 20);
  step.with_values("gradient/a", ramp(1e-9f), {21}).with_scalar("Loss", 1);
  EXPECT_TRUE(rule.fires_at(step));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].quantity, "p95 - p5");
  EXPECT_EQ(rule.verdict().evidence[1].quantity,
            "variance over that of layer1.relu_input_0");
  EXPECT_THAT(rule.verdict().message, Not(HasSubstr("not judged")));
}

}  // namespace
}  // namespace smdebug
