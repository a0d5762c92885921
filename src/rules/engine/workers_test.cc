// Verdicts on runs of two workers that hold the same tensors: messages count a
// tensor once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kWorkers[] = {"worker_0", "worker_1"};

TensorStatistics all_zero() {
  TensorStatistics statistics = even_statistics(0);
  statistics.zeros = 10;
  return statistics;
}

TensorStatistics with_nan() {
  TensorStatistics statistics = even_statistics(1);
  statistics.nan = 1;
  return statistics;
}

StepBuilder on_two_workers(
    Step step,
    const std::vector<std::pair<std::string, TensorStatistics>>& tensors) {
  StepBuilder builder(step);
  for (const char* worker : kWorkers) {
    for (const auto& [name, statistics] : tensors) {
      builder.with_statistics(name, statistics).from_worker(worker);
    }
  }
  return builder;
}

TEST(Workers, DoNotDoubleTheGradientsThatVanish) {
  RuleHarness rule("VanishingGradient");
  ASSERT_TRUE(
      rule.fires_at(on_two_workers(0, {{"gradient/a", even_statistics(1e-9)},
                                       {"gradient/b", even_statistics(1e-9)},
                                       {"gradient/c", even_statistics(1)}})));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; this applies to 2 of 3 gradients of this step, on 2 "
                       "workers"));
  EXPECT_EQ(rule.verdict().evidence.size(), 4u);  // one per worker
}

TEST(Workers, AreCountedOnlyIfTheyAreAffected) {
  RuleHarness rule("VanishingGradient");
  ASSERT_TRUE(
      rule.fires_at(StepBuilder(0)
                        .with_statistics("gradient/a", even_statistics(1e-9))
                        .with_statistics("gradient/b", even_statistics(1e-9))
                        .with_statistics("gradient/a", even_statistics(1))
                        .from_worker("worker_1")
                        .with_statistics("gradient/b", even_statistics(1))
                        .from_worker("worker_1")));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; this applies to 2 of 2 gradients of this step"));
}

TEST(Workers, WithTheSameSingleTensorAreNotSeveralTensors) {
  RuleHarness rule("VanishingGradient");
  ASSERT_TRUE(
      rule.fires_at(on_two_workers(0, {{"gradient/a", even_statistics(1e-9)},
                                       {"gradient/b", even_statistics(1)}})));
  EXPECT_THAT(rule.verdict().message, EndsWith("; the same on 2 workers"));
}

TEST(Workers, DoNotDoubleTheTensorsThatExplode) {
  RuleHarness rule("ExplodingTensor");
  ASSERT_TRUE(rule.fires_at(on_two_workers(0, {{"gradient/a", with_nan()},
                                               {"gradient/b", with_nan()},
                                               {"gradient/c", with_nan()}})));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; 3 tensors of this step have such elements, on 2 "
                       "workers"));
}

TEST(Workers, DoNotDoubleTheTensorsThatAreZero) {
  RuleHarness rule("AllZero", {{"tensor_regex", "gradient"}});
  ASSERT_TRUE(rule.fires_at(on_two_workers(
      0, {{"gradient/a", all_zero()}, {"gradient/b", all_zero()}})));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; this applies to 2 tensors of this step, on 2 "
                       "workers"));
}

TEST(Workers, DoNotDoubleTheTensorsWithReductionsAlone) {
  RuleHarness rule("AllZero", {{"tensor_regex", "gradient"}});
  for (const Step step : {0, 10}) {
    StepBuilder builder(step);
    for (const char* worker : kWorkers) {
      builder.with_reductions("gradient/a", {{{Reduction::mean}, 0.0}})
          .from_worker(worker);
    }
    EXPECT_FALSE(rule.fires_at(builder));
  }
  rule.finish();
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("1 tensor"), Not(HasSubstr("4"))));
}

TEST(Workers, DoNotDoubleTheTensorsOutOfBounds) {
  RuleHarness rule("TensorVariance",
                   {{"tensor_regex", "gradient"}, {"max_threshold", "5"}});
  ASSERT_TRUE(
      rule.fires_at(on_two_workers(0, {{"gradient/a", even_statistics(10)},
                                       {"gradient/b", even_statistics(10)}})));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; 2 tensors of this step are out of bounds, on 2 "
                       "workers"));
}

TEST(Workers, DoNotDoubleTheTensorsThatAreUnchanged) {
  RuleHarness rule("UnchangedTensor",
                   {{"tensor_regex", "weight"}, {"num_steps", "2"}});
  const std::vector<std::pair<std::string, TensorStatistics>> tensors = {
      {"a.weight", even_statistics(1)}, {"b.weight", even_statistics(1)}};
  EXPECT_FALSE(rule.fires_at(on_two_workers(0, tensors)));
  ASSERT_TRUE(rule.fires_at(on_two_workers(10, tensors)));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; 2 tensors are unchanged, on 2 workers"));
}

TEST(Workers, DoNotDoubleTheLayersThatAreInactive) {
  RuleHarness rule("DeadRelu");
  StepBuilder builder(0);
  for (const char* worker : kWorkers) {
    for (const char* name : {"a_relu_output_0", "b_relu_output_0"}) {
      builder.with_values(name, {0, 0, 0, 0, 0, 0}, {2, 3}).from_worker(worker);
    }
  }
  ASSERT_TRUE(rule.fires_at(builder));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; this applies to 2 layers of this step, on 2 "
                       "workers"));
}

StepBuilder weights_on_two_workers(Step step, float a, float b) {
  StepBuilder builder(step);
  for (const char* worker : kWorkers) {
    builder.with_values("a.weight", {a, a}, {2}).from_worker(worker);
    builder.with_values("b.weight", {b, b}, {2}).from_worker(worker);
    builder.with_values("frozen.weight", {7, 7}, {2}).from_worker(worker);
  }
  return builder;
}

TEST(Workers, DoNotDoubleTheWeightsOutOfBounds) {
  RuleHarness rule("WeightUpdateRatio");
  EXPECT_FALSE(rule.fires_at(weights_on_two_workers(0, 1, 1)));
  ASSERT_TRUE(rule.fires_at(weights_on_two_workers(1, 100, 100)));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; 2 of 3 weights are out of bounds, on 2 workers"));
}

TEST(Workers, DoNotDoubleTheWeightsThatAreNotJudged) {
  RuleHarness rule("WeightUpdateRatio");
  rule.fires_at(weights_on_two_workers(0, 1, 1));
  rule.fires_at(weights_on_two_workers(1, 1.01F, 1.01F));
  rule.finish();
  EXPECT_THAT(rule.verdict().message, HasSubstr("1 of 3 weights, such as "));
}

TEST(Workers, DoNotDoubleTheSharesOfTokens) {
  RuleHarness rule("NLPSequenceRatio",
                   {{"tensor_regex", "ids"},
                    {"token_values", "0, 2"},
                    {"token_thresholds_percent", "40, 40"}});
  StepBuilder builder(0);
  for (const char* worker : kWorkers) {
    builder.with_values("ids", {0, 2}, {2}).from_worker(worker);
  }
  ASSERT_TRUE(rule.fires_at(builder));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; 2 shares of this step are above their threshold, on "
                       "2 workers"));
}

TEST(Workers, DoNotDoubleTheTensorsThatDifferFromAnotherRun) {
  RuleHarness rule("SimilarAcrossRuns", {{"other_trials", "before"}});
  const auto step = [](float value, std::size_t run) {
    StepBuilder builder(0);
    for (const char* worker : kWorkers) {
      builder.with_values("a", {value}, {1}).from_worker(worker);
      builder.with_values("b", {value}, {1}).from_worker(worker);
    }
    return builder.in_run(run);
  };
  EXPECT_FALSE(rule.fires_at(step(1, 0)));
  ASSERT_TRUE(rule.fires_at(step(2, 1)));
  EXPECT_THAT(rule.verdict().message,
              EndsWith("; 2 tensors of this step differ, on 2 workers"));
}

TEST(Workers, AreNotTheLayersWhoseVariancesAreCompared) {
  RuleHarness rule("PoorWeightInitialization");
  StepBuilder builder(0);
  builder.with_values("a_relu_input_0", {-100, 100}, {2});
  builder.with_values("a_relu_input_0", {-1, 1}, {2}).from_worker("worker_1");
  EXPECT_FALSE(rule.fires_at(builder));
}

}  // namespace
}  // namespace smdebug
