#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

// Normalizations of PyTorch, each with its momentum, in training mode.
RunFacts network(const std::vector<double>& momenta) {
  RunFacts facts;
  facts.modules = {{"Net", "Net", true, {}}};
  for (std::size_t i = 0; i < momenta.size(); ++i) {
    facts.modules.push_back(
        {"norm" + std::to_string(i),
         "BatchNorm1d",
         true,
         {{"momentum", momenta[i]}, {"track_running_stats", 1}}});
  }
  return facts;
}

RunFacts keras_network(double momentum) {
  RunFacts facts = network({momentum});
  facts.modules[1].kind = "BatchNormalization";
  return facts;
}

RunFacts with_batch_of(std::int64_t samples, RunFacts facts,
                       std::uint64_t steps = 3) {
  DataFacts input;
  input.steps = steps;
  input.shape = {samples, 3, 8, 8};
  facts.inputs = {input};
  return facts;
}

// An epoch of `updates` saved steps and one evaluation after it.
void train(RuleHarness& rule, Step updates) {
  for (Step step = 0; step < updates; ++step)
    rule.fires_at(StepBuilder(step).with_scalar("Loss", 1));
  rule.fires_at(StepBuilder({updates, Mode::eval, 0}).with_scalar("Loss", 1));
}

TEST(NormalizationTrouble, FindsStatisticsThatCannotMove) {
  for (const RunFacts& facts : {network({0.1, 0, 0}), keras_network(1)}) {
    RuleHarness rule("NormalizationTrouble");
    EXPECT_EQ(rule.fires_with(1, {facts}), -1);  // ten steps are too few
    rule.knows(facts, "worker_0");
    EXPECT_TRUE(rule.fires_at(StepBuilder(20).with_scalar("Loss", 1)));
    EXPECT_EQ(rule.verdict().severity, Severity::serious);
    EXPECT_THAT(rule.verdict().cause, HasSubstr("where they began"));
  }
  RuleHarness rule("NormalizationTrouble");
  EXPECT_EQ(rule.fires_with(10, {network({0.1, 0, 0})}), 20);
  EXPECT_EQ(rule.verdict().message,
            "norm1 (BatchNorm1d, momentum 0) and 1 further normalization: the "
            "running statistics stay where they began, at step 20 (TRAIN step "
            "20)");
  EXPECT_EQ(rule.verdict().evidence.size(), 2u);
}

TEST(NormalizationTrouble, AdvisesOnTheMomentumOfAnotherFramework) {
  for (const RunFacts& facts : {network({0.99}), keras_network(0.01)}) {
    RuleHarness rule("NormalizationTrouble");
    EXPECT_EQ(rule.fires_with(10, {facts}), 20);
    EXPECT_EQ(rule.verdict().severity, Severity::advice);
    EXPECT_THAT(rule.verdict().message,
                HasSubstr("are to 99 % those of the last batch"));
  }
}

TEST(NormalizationTrouble, IsSilentOnTheUsualMomentum) {
  for (const RunFacts& facts :
       {network({0.1, 0.01}), keras_network(0.99), keras_network(0.9),
        with_batch_of(2, network({0.1})), with_batch_of(1, network({}))}) {
    RuleHarness rule("NormalizationTrouble");
    rule.knows(facts, "worker_0");
    train(rule, 100);
    EXPECT_NE(rule.finish().status, RuleStatus::issues_found)
        << rule.verdict().message;
  }
}

TEST(NormalizationTrouble, AdvisesOnABatchOfOneSample) {
  RuleHarness rule("NormalizationTrouble");
  EXPECT_EQ(rule.fires_with(10, {with_batch_of(1, network({0.1}))}), 20);
  EXPECT_EQ(rule.verdict().severity, Severity::advice);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("are those of a batch of one sample"));
  RuleHarness unsure("NormalizationTrouble");
  EXPECT_EQ(unsure.fires_with(10, {with_batch_of(1, network({0.1}), 2)}), -1);
}

TEST(NormalizationTrouble, AdvisesOnStatisticsThatLagBehindAnEvaluation) {
  // 0.99^60 = 0.547 is more than half; 0.99^80 = 0.448 is not.
  for (const Step updates : {60, 80}) {
    RuleHarness rule("NormalizationTrouble");
    rule.knows(keras_network(0.99), "worker_0");
    train(rule, updates);
    EXPECT_EQ(rule.verdict().status, RuleStatus::in_progress);
    const bool lags = std::pow(0.99, updates) > 0.5;
    ASSERT_EQ(rule.finish().status == RuleStatus::issues_found, lags);
    if (!lags) continue;
    EXPECT_EQ(rule.verdict().severity, Severity::advice);
    EXPECT_THAT(rule.verdict().message,
                HasSubstr("55 % of the first running statistics were left when "
                          "the model was last evaluated, after about 60"));
  }
}

TEST(NormalizationTrouble, DoesNotJudgeStatisticsThatNoEvaluationUses) {
  RuleHarness rule("NormalizationTrouble");
  EXPECT_EQ(rule.fires_with(3, {keras_network(0.99)}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(NormalizationTrouble, SaysWhyItHasNothingToJudge) {
  const auto why = [](const RunFacts& facts, Step steps) {
    RuleHarness rule("NormalizationTrouble");
    rule.knows(facts, "worker_0");
    train(rule, steps);
    EXPECT_EQ(rule.finish().status, RuleStatus::error);
    return rule.verdict().message;
  };
  EXPECT_THAT(why(network({0.1}), 5),
              HasSubstr("it needs 20 TRAIN steps, and the run has 5"));
  EXPECT_THAT(why(network({}), 30),
              HasSubstr("no normalization that trains has running statistics"));
  EXPECT_THAT(why(RunFacts(), 30), HasSubstr("no settings of modules"));
  RunFacts evaluates = network({0});
  evaluates.modules[1].is_training = false;
  EXPECT_THAT(why(evaluates, 30), HasSubstr("no normalization that trains"));
}

TensorStatistics of_four(std::uint64_t nans) {
  TensorStatistics statistics;
  statistics.count = 4;
  statistics.nan = nans;
  return statistics;
}

TEST(NormalizationTrouble, FindsStatisticsThatAreNotFinite) {
  for (const char* name :
       {"buffer/Net_norm.running_var", "norm/weights/norm/moving_mean:0",
        "batchnorm0_running_mean"}) {
    RuleHarness rule("NormalizationTrouble");
    EXPECT_FALSE(
        rule.fires_at(StepBuilder(0).with_statistics(name, of_four(0))));
    EXPECT_TRUE(rule.fires_at(
        StepBuilder({50, Mode::eval, 0}).with_statistics(name, of_four(3))));
    EXPECT_EQ(rule.verdict().severity, Severity::serious);
    EXPECT_EQ(rule.verdict().message,
              std::string(name) +
                  ": 3 of 4 running statistics are NaN or infinite, at step 50 "
                  "(EVAL step 0)");
    EXPECT_EQ(rule.verdict().evidence.at(0).value, 3);
  }
}

TEST(NormalizationTrouble, JudgesNoOtherBuffers) {
  RuleHarness rule("NormalizationTrouble");
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_statistics("buffer/Net_mask", of_four(3))));
}

}  // namespace
}  // namespace smdebug
