#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A batch of rows x units, of which the first `dead` are zero in every row.
std::vector<float> outputs(int rows, int units, int dead) {
  std::vector<float> values;
  for (int row = 0; row < rows; ++row) {
    for (int unit = 0; unit < units; ++unit) values.push_back(unit >= dead);
  }
  return values;
}

TEST(DeadRelu, FiresIfMoreThanHalfOfTheUnitsAreDead) {
  RuleHarness rule("DeadRelu");
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_values("relu_output_0", outputs(4, 8, 4), {4, 8})));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(10).with_values("relu_output_0", outputs(4, 8, 5), {4, 8})));
  EXPECT_EQ(rule.verdict().evidence.front().value, 62.5);
  EXPECT_EQ(rule.verdict().evidence.front().threshold, 50);
}

TEST(DeadRelu, SaysHowManyUnitsOfWhichLayerSinceWhen) {
  RuleHarness rule("DeadRelu");
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(20)
          .with_values("layer1.relu_output_0", outputs(4, 8, 6), {4, 8})
          .with_values("layer2.relu_output_0", outputs(4, 8, 8), {4, 8})));
  EXPECT_EQ(rule.verdict().message,
            "layer2.relu_output_0: 8 of 8 units of layer layer2.relu (100 %) "
            "are above 0 in less than 1 % of the samples, more than the 50 % "
            "allowed, at step 20 (TRAIN step 20); in the adjacent layer, "
            "layer1.relu_output_0 has 75 % dead units; this applies to 2 "
            "layers of this step");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("learning rate"));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "layer2.relu_output_0");
  EXPECT_EQ(rule.verdict().evidence[1].value, 75);
}

TEST(DeadRelu, TellsUnitsThatWereNeverAliveFromThoseThatDied) {
  const auto cause_of = [](Step step) {
    RuleHarness rule("DeadRelu");
    EXPECT_TRUE(rule.fires_at(StepBuilder(step).with_values(
        "relu_output_0", outputs(4, 8, 8), {4, 8})));
    return rule.verdict().cause;
  };
  EXPECT_THAT(cause_of(0), HasSubstr("weights that are all 0"));
  EXPECT_THAT(cause_of(4), HasSubstr("an update that was too large"));
}

TEST(DeadRelu, HasAThresholdForTheShareOfTheLayer) {
  RuleHarness rule("DeadRelu", {{"threshold_layer", "20"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_values("relu_output_0", outputs(4, 5, 1), {4, 5})));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(1).with_values("relu_output_0", outputs(4, 5, 2), {4, 5})));
}

// One unit, active in 2 of 100 samples.
TEST(DeadRelu, HasAThresholdForTheActivityOfAUnit) {
  std::vector<float> values(100);
  values[3] = values[40] = 1;
  const auto fires = [&](const char* threshold) {
    RuleHarness rule("DeadRelu", {{"threshold_inactivity", threshold}});
    return rule.fires_at(
        StepBuilder(0).with_values("relu_output_0", values, {100, 1}));
  };
  EXPECT_FALSE(fires("2"));
  EXPECT_TRUE(fires("2.1"));
}

// Two channels of 2 x 2: the first is active in one corner alone.
TEST(DeadRelu, CountsPlacesOrChannelsAsUnits) {
  const std::vector<float> values = {1, 0, 0, 0, 0, 0, 0, 0,
                                     1, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<std::int64_t> shape = {2, 2, 2, 2};
  RuleHarness places("DeadRelu");
  EXPECT_TRUE(places.fires_at(
      StepBuilder(0).with_values("relu_output_0", values, shape)));
  EXPECT_EQ(places.verdict().evidence.front().value, 87.5);
  RuleHarness channels("DeadRelu", {{"unit", "channel"}});
  EXPECT_FALSE(channels.fires_at(
      StepBuilder(0).with_values("relu_output_0", values, shape)));
  RuleHarness last("DeadRelu", {{"unit", "last"}, {"threshold_layer", "49"}});
  EXPECT_TRUE(last.fires_at(
      StepBuilder(0).with_values("relu_output_0", values, shape)));
  EXPECT_EQ(last.verdict().evidence.front().value, 50);
}

TEST(DeadRelu, PoolsTenStepsOfBatchesOfOne) {
  RuleHarness rule("DeadRelu");
  for (Step step = 0; step < 9; ++step) {
    EXPECT_FALSE(rule.fires_at(
        StepBuilder(step).with_values("relu_output_0", {0, 0, 1}, {1, 3})));
  }
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
  // Units 0 and 1 are active for the first time: one of ten samples.
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(9).with_values("relu_output_0", {1, 1, 1}, {1, 3})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
  for (Step step = 10; step < 19; ++step) {
    EXPECT_FALSE(rule.fires_at(
        StepBuilder(step).with_values("relu_output_0", {0, 0, 1}, {1, 3})));
  }
  // Step 9 is no longer among the last ten.
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(19).with_values("relu_output_0", {0, 0, 1}, {1, 3})));
}

TEST(DeadRelu, SaysThatBatchesOfOneWereTooFew) {
  RuleHarness rule("DeadRelu");
  rule.fires_at(StepBuilder(0).with_values("relu_output_0", {0, 0}, {1, 2}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("fewer than 10")));
}

TEST(DeadRelu, TakesNoNanForASample) {
  RuleHarness rule("DeadRelu");
  // Unit 0 holds only NaN, unit 1 a NaN and a 1, unit 2 is alive.
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_values(
      "relu_output_0", {kNan, kNan, 1, kNan, 1, 1}, {2, 3})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
  EXPECT_FALSE(rule.fires_at(StepBuilder(1).with_values(
      "relu_output_0", {kNan, kNan, kNan, kNan}, {2, 2})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
}

// A policy that is called without a batch dimension: no unit is judged by a
// single step, and a layer half of whose units are active is alive.
TEST(DeadRelu, TakesAVectorForOneSampleOfItsUnits) {
  RuleHarness alive("DeadRelu"), dead("DeadRelu");
  for (Step step = 0; step < 10; ++step) {
    EXPECT_EQ(dead.fires_at(StepBuilder(step).with_values("relu_output_0",
                                                          {0, 0, 0, 1}, {4})),
              step == 9);
    EXPECT_FALSE(alive.fires_at(
        StepBuilder(step).with_values("relu_output_0", {0, 0, 1, 1}, {4})));
  }
  EXPECT_THAT(dead.verdict().message, HasSubstr("3 of 4 units of layer relu"));
}

TEST(DeadRelu, JudgesByStatisticsWhereTheyTell) {
  TensorStatistics alive;
  alive.count = 100;
  alive.zeros = 49;  // at most 49 % of the units can be dead
  alive.max = 1;
  RuleHarness rule("DeadRelu");
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_statistics("relu_output_0", alive)
                                 .of_shape({10, 10})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
  TensorStatistics dead = alive;
  dead.zeros = 100;
  dead.max = 0;
  EXPECT_TRUE(rule.fires_at(StepBuilder(1)
                                .with_statistics("relu_output_0", dead)
                                .of_shape({10, 10})));
  EXPECT_THAT(rule.verdict().message, HasSubstr("all units of layer relu"));
}

// No element is zero, and yet most units are never above it.
TEST(DeadRelu, DoesNotTakeElementsBelowZeroForActive) {
  TensorStatistics statistics;
  statistics.count = 8;
  statistics.min = -1;
  statistics.max = 1;
  RuleHarness rule("DeadRelu");
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0)
          .with_values("relu_output_0", {-1, -1, -1, 1, -1, -1, -1, 1}, {2, 4})
          .and_statistics(statistics)));
  EXPECT_EQ(rule.verdict().evidence.front().value, 75);
}

TEST(DeadRelu, SaysThatStatisticsDoNotTell) {
  TensorStatistics some;
  some.count = 100;
  some.zeros = 90;
  some.max = 1;
  RuleHarness rule("DeadRelu");
  rule.fires_at(StepBuilder(0).with_statistics("relu_output_0", some));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("raw values")));
}

TEST(DeadRelu, JudgesByTheSavedBoundsOfTheOriginal) {
  RuleHarness rule("DeadRelu");
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0)
          .with_reductions("relu_output_0",
                           {{{Reduction::min}, 0.5}, {{Reduction::max}, 2.0}})
          .of_shape({10, 10})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(1)
          .with_reductions("relu_output_0",
                           {{{Reduction::min}, 0.0}, {{Reduction::max}, 0.0}})
          .of_shape({10, 10})));
}

TEST(DeadRelu, FindsReluOutputsAsEachFrameworkNamesThem) {
  for (const char* name :
       {"relu_output_0", "net_dense0_relu_output_0", "net_relu12_output_0",
        "layer1.0.relu_output_1", "Net_relu1_output_0", "ReLU_output_0",
        "features.relu_6_output_0", "re_lu_1/outputs", "dense_relu/outputs_0",
        "dense/outputs/dense/Relu:0", "relu6_output_0"}) {
    RuleHarness rule("DeadRelu");
    EXPECT_TRUE(rule.fires_at(
        StepBuilder(0).with_values(name, outputs(4, 8, 8), {4, 8})))
        << name;
  }
  for (const char* name :
       {"fc_output_0", "relu_input_0", "prelu1_output_0", "leaky_re_lu/outputs",
        "LeakyReLU1_output_0", "dense/weights/relu/kernel:0"}) {
    RuleHarness rule("DeadRelu");
    EXPECT_FALSE(rule.fires_at(
        StepBuilder(0).with_values(name, outputs(4, 8, 8), {4, 8})))
        << name;
  }
}

TEST(DeadRelu, JudgesACollectionOfReluOutputsByWhateverName) {
  RuleHarness rule("DeadRelu");
  rule.in_a_run_with({{"relu_output", {}, {"1_output_0"}}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0).with_values("1_output_0", outputs(4, 8, 8), {4, 8})));
}

TEST(DeadRelu, NamesTheNearestTensorsWhereNoneIsARelu) {
  RuleHarness rule("DeadRelu");
  rule.fires_at(StepBuilder(0).with_values("fc_output_0", {0, 0}, {2, 1}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("fc_output_0")));
}

TEST(DeadRelu, SaysThatAFunctionHasNoOutputsToJudge) {
  for (const std::map<std::string, std::string>& given :
       {std::map<std::string, std::string>{}, {{"preset", "tuned"}}}) {
    RuleHarness rule("DeadRelu", given);
    rule.fires_at(StepBuilder(0).with_values("fc_output_0", {0, 0}, {2, 1}));
    EXPECT_THAT(rule.finish().message,
                HasSubstr("DeadRelu judges the outputs of ReLU layers (use "
                          "nn.ReLU: functions such as F.relu, torch.relu and "
                          "tf.nn.relu have none), and the run has none; "));
  }
  RuleHarness chosen("DeadRelu", {{"tensor_regex", "^act"}});
  chosen.fires_at(StepBuilder(0).with_values("fc_output_0", {0, 0}, {2, 1}));
  EXPECT_THAT(chosen.finish().message,
              AllOf(HasSubstr("pattern '^act'"), Not(HasSubstr("nn.ReLU"))));
}

// Against a plain loop over random activations of random shape; a shortcut by
// statistics must never change the verdict. Seeds 0 to 199.
TEST(DeadRelu, AgreesWithAPlainCountForAnyActivations) {
  int fired = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const int rows = 2 + int(random() % 6), units = 1 + int(random() % 9);
    const double dead = double(random() % 101) / 100;
    std::vector<float> values(std::size_t(rows * units));
    TensorStatistics statistics;
    statistics.count = values.size();
    for (int unit = 0; unit < units; ++unit) {
      const double zeros = double(random() % 100) / 100 < dead ? 1 : 0.3;
      for (int row = 0; row < rows; ++row) {
        const bool is_zero = double(random() % 100) / 100 < zeros;
        values[std::size_t(row) * units + unit] = is_zero ? 0 : 2;
        statistics.zeros += is_zero;
        if (!is_zero) statistics.max = 2;
      }
    }
    statistics.min = statistics.zeros > 0 ? 0 : 2;
    int dead_units = 0;
    for (int unit = 0; unit < units; ++unit) {
      int active = 0;
      for (int row = 0; row < rows; ++row) {
        active += values[std::size_t(row) * units + unit] > 0;
      }
      dead_units += 100.0 * active / rows < 30;
    }
    const bool expected = 100.0 * dead_units / units > 50;
    RuleHarness rule("DeadRelu", {{"threshold_inactivity", "30"}});
    EXPECT_EQ(
        rule.fires_at(StepBuilder(0)
                          .with_values("relu_output_0", values, {rows, units})
                          .and_statistics(statistics)),
        expected)
        << "seed " << seed;
    fired += expected;
  }
  EXPECT_GT(fired, 20);
  EXPECT_LT(fired, 180);
}

}  // namespace
}  // namespace smdebug
