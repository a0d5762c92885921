
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Four rows of 4 units; the first `saturated` take `input`, the others 0.
std::vector<float> inputs(int saturated, float input) {
  std::vector<float> values;
  for (int i = 0; i < 16; ++i) values.push_back(i % 4 < saturated ? input : 0);
  return values;
}

bool fires(const char* name, std::vector<float> values,
           const std::map<std::string, std::string>& given = {}) {
  RuleHarness rule("SaturatedActivation", given);
  return rule.fires_at(
      StepBuilder(0).with_values(name, std::move(values), {4, 4}));
}

TEST(SaturatedActivation, FiresIfMoreThanHalfOfTheUnitsAreSaturated) {
  EXPECT_FALSE(fires("Net_tanh_input_0", inputs(2, 20)));
  EXPECT_TRUE(fires("Net_tanh_input_0", inputs(3, 20)));
}

TEST(SaturatedActivation, HasTheDocumentedLimits) {
  EXPECT_TRUE(fires("tanh_input_0", inputs(4, 9.5f)));
  EXPECT_FALSE(fires("tanh_input_0", inputs(4, 9.4998f)));
  EXPECT_TRUE(fires("tanh_input_0", inputs(4, -9.5f)));
  EXPECT_FALSE(fires("tanh_input_0", inputs(4, -9.4998f)));
  EXPECT_TRUE(fires("sigmoid_input_0", inputs(4, 17)));
  EXPECT_FALSE(fires("sigmoid_input_0", inputs(4, 16.9f)));
  EXPECT_TRUE(fires("sigmoid_input_0", inputs(4, -23)));
  EXPECT_FALSE(fires("sigmoid_input_0", inputs(4, -22.9f)));
}

TEST(SaturatedActivation, TakesOtherLimits) {
  EXPECT_TRUE(
      fires("tanh_input_0", inputs(4, 3), {{"threshold_tanh_max", "3"}}));
  EXPECT_TRUE(
      fires("tanh_input_0", inputs(4, -3), {{"threshold_tanh_min", "-3"}}));
  EXPECT_TRUE(
      fires("sigmoid_input_0", inputs(4, 3), {{"threshold_sigmoid_max", "3"}}));
  EXPECT_TRUE(fires("sigmoid_input_0", inputs(4, -3),
                    {{"threshold_sigmoid_min", "-3"}}));
  EXPECT_FALSE(
      fires("tanh_input_0", inputs(4, 20), {{"threshold_tanh_max", "21"}}));
  EXPECT_TRUE(
      fires("tanh_input_0", inputs(1, 20), {{"threshold_layer", "24"}}));
}

// A unit that is inside the limits in one of four rows.
TEST(SaturatedActivation, HasAThresholdForTheActivityOfAUnit) {
  std::vector<float> values(16, 20);
  for (int unit = 0; unit < 4; ++unit) values[std::size_t(unit)] = 0;
  EXPECT_FALSE(fires("tanh_input_0", values, {{"threshold_inactivity", "25"}}));
  EXPECT_TRUE(fires("tanh_input_0", values, {{"threshold_inactivity", "26"}}));
}

TEST(SaturatedActivation, RefusesLimitsThatLeaveNothingBetween) {
  const auto rule = make_builtin_rule(
      "SaturatedActivation",
      {{"threshold_tanh_min", "3"}, {"threshold_tanh_max", "3"}});
  ASSERT_FALSE(rule.ok());
  EXPECT_THAT(rule.error().message, AllOf(HasSubstr("threshold_tanh_min"),
                                          HasSubstr("threshold_tanh_max")));
}

TEST(SaturatedActivation, ChoosesTheLimitsByTheLastWordInTheName) {
  EXPECT_FALSE(fires("tanh_block.sigmoid_input_0", inputs(4, 10)));
  EXPECT_TRUE(fires("sigmoid_block.tanh_input_0", inputs(4, 10)));
  EXPECT_TRUE(fires("TANH_x", inputs(4, 10), {{"tensor_regex", "TANH"}}));
}

TEST(SaturatedActivation, ChoosesTheLimitsByTheCollectionOfANameThatIsSilent) {
  for (const char* collection : {"tanh_input", "sigmoid_input"}) {
    RuleHarness rule("SaturatedActivation");
    rule.in_a_run_with({{collection, {}, {"1_input_0"}}});
    EXPECT_EQ(rule.fires_at(StepBuilder(0).with_values("1_input_0",
                                                       inputs(4, 10), {4, 4})),
              std::string(collection) == "tanh_input")
        << collection;
  }
}

TEST(SaturatedActivation, SaysOfWhichTensorsTheLimitsAreNotKnown) {
  const std::map<std::string, std::string> given = {
      {"tensor_regex", "_input_0"}};
  RuleHarness rule("SaturatedActivation", given);
  rule.fires_at(
      StepBuilder(0).with_values("fc_input_0", inputs(4, 50), {4, 4}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("fc_input_0"));
  RuleHarness other("SaturatedActivation", given);
  other.fires_at(StepBuilder(0)
                     .with_values("fc_input_0", inputs(4, 50), {4, 4})
                     .with_values("tanh_input_0", inputs(1, 50), {4, 4}));
  EXPECT_EQ(other.finish().status, RuleStatus::no_issues_found);
  EXPECT_THAT(other.verdict().message,
              AllOf(HasSubstr("not judged"), HasSubstr("fc_input_0")));
}

RunFacts loss_given(const char* activation) {
  RunFacts facts;
  LossFacts& loss = facts.losses.emplace_back();
  loss.tensor = "BCELoss_output_0";
  loss.input.emplace().activation = activation;
  return facts;
}

TEST(SaturatedActivation, LeavesOutTheActivationBeforeTheLoss) {
  const auto both = [](int first, int last) {
    StepBuilder step(6);
    step.with_values("1.sigmoid_input_0", inputs(first, 50), {4, 4});
    step.with_values("3.sigmoid_input_0", inputs(last, 50), {4, 4});
    return step;
  };
  RuleHarness rule("SaturatedActivation");
  rule.knows(loss_given("Sigmoid"), "worker_0");
  EXPECT_FALSE(rule.fires_at(both(0, 4)));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);

  RuleHarness hidden("SaturatedActivation");
  hidden.knows(loss_given("Sigmoid"), "worker_0");
  EXPECT_TRUE(hidden.fires_at(both(4, 0)));

  for (const char* activation : {"Linear", "Tanh"}) {
    RuleHarness other("SaturatedActivation");
    other.knows(loss_given(activation), "worker_0");
    EXPECT_TRUE(other.fires_at(both(0, 4))) << activation;
  }
}

TEST(SaturatedActivation, JudgesNothingIfItsOnlyActivationIsBeforeTheLoss) {
  RuleHarness rule("SaturatedActivation");
  rule.knows(loss_given("Sigmoid"), "worker_0");
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(6).with_values("1.sigmoid_input_0", inputs(4, 50), {4, 4})));
  EXPECT_THAT(rule.finish().message,
              HasSubstr("1.sigmoid_input_0 is the input of the activation "
                        "before the loss"));
}

TEST(SaturatedActivation, SaysWhatIsWrongAndWhatToTry) {
  RuleHarness rule("SaturatedActivation");
  rule.fires_at(StepBuilder(6)
                    .with_values("a_tanh_input_0", inputs(3, 50), {4, 4})
                    .with_values("b_tanh_input_0", inputs(4, 50), {4, 4}));
  EXPECT_EQ(
      rule.verdict().message,
      "b_tanh_input_0: 4 of 4 units of layer b_tanh (100 %) have an input of "
      "tanh between -9.4999 and 9.4999 in less than 1 % of the samples, more "
      "than the 50 % allowed, at step 6 (TRAIN step 6); in the adjacent layer, "
      "a_tanh_input_0 has 75 % saturated units; this applies to 2 layers of "
      "this step");
  EXPECT_EQ(rule.verdict().evidence.front().tensor, "b_tanh_input_0");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("normalize"));
}

TEST(SaturatedActivation, CountsInfinitiesAndLeavesNanOut) {
  EXPECT_TRUE(fires("tanh_input_0", inputs(3, kInf)));
  EXPECT_TRUE(fires("tanh_input_0", inputs(3, -kInf)));
  EXPECT_FALSE(fires("tanh_input_0", inputs(3, kNan)));
}

TEST(SaturatedActivation, JudgesByStatisticsWhereTheyTell) {
  TensorStatistics inside;
  inside.count = 8;
  inside.min = -9;
  inside.max = 9;
  RuleHarness rule("SaturatedActivation");
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_statistics("tanh_input_0", inside)
                                 .of_shape({10, 10})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
  TensorStatistics part = inside;
  part.max = 11;
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(1).with_statistics("tanh_input_0", part).of_shape({10, 10})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);  // cannot tell
  TensorStatistics beyond = inside;
  beyond.min = 10;
  beyond.max = 11;
  EXPECT_TRUE(rule.fires_at(StepBuilder(2)
                                .with_statistics("tanh_input_0", beyond)
                                .of_shape({10, 10})));
}

TEST(SaturatedActivation, FindsInputsAsEachFrameworkNamesThem) {
  for (const char* name :
       {"tanh_input_0", "net_dense0_tanh_input_0", "Net_tanh1_input_0",
        "layer1.0.sigmoid_input_0", "Sigmoid_2_input_0", "tanh_1/inputs"}) {
    EXPECT_TRUE(fires(name, inputs(4, 50))) << name;
  }
  EXPECT_FALSE(fires("tanh_output_0", inputs(4, 50)));
}

}  // namespace
}  // namespace smdebug
