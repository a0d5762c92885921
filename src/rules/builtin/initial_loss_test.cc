#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

RunFacts facts_of(std::string_view function = "cross_entropy") {
  RunFacts facts;
  LossInputFacts input;
  input.function = function;
  input.steps = 1;
  input.shape = {32, 10};
  facts.losses = {{"Loss_output_0", "CrossEntropyLoss", "mean", {}, input}};
  return facts;
}

// Thousand weights with a standard deviation of 1.
TensorStatistics thousand(double largest) {
  TensorStatistics statistics;
  statistics.count = 1000;
  statistics.min = -largest;
  statistics.max = largest;
  statistics.sum_squares = 1000;
  return statistics;
}

// Returns the step at which the rule fires in a training of six steps, or -1.
Step fires(RuleHarness& rule, const RunFacts& facts,
           const std::function<double(Step)>& loss, double largest = 3.5) {
  rule.knows(facts, "worker_0");
  for (Step step = 0; step < 6; ++step) {
    StepBuilder built(step);
    built.with_scalar("Loss_output_0", loss(step));
    built.with_statistics("Net_fc.weight", thousand(largest));
    built.of_shape({50, 20});
    if (rule.fires_at(built)) return step;
  }
  rule.finish();
  return -1;
}

double high(Step step) { return 40.0 - 2 * static_cast<double>(step); }

TEST(InitialLoss, IsFoundIfItIsFarAboveThatOfAGuess) {
  RuleHarness rule("InitialLoss");
  EXPECT_EQ(fires(rule, facts_of(), high), 3);
  EXPECT_EQ(rule.verdict().message,
            "Loss_output_0: the loss begins at 40 and is 36 in saved step 3, "
            "where a guess among 10 classes has 2.303, at step 0 (TRAIN step "
            "0)");
  EXPECT_EQ(rule.verdict().severity, Severity::advice);
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].step.global, 0);
}

TEST(InitialLoss, HasTheWrongSignIfItBeginsNearTheNegativeOfAGuess) {
  const auto falling = [](Step step) {
    return -2.2 - 3 * static_cast<double>(step);
  };
  RuleHarness rule("InitialLoss");
  EXPECT_EQ(fires(rule, facts_of(), falling), 3);
  EXPECT_EQ(rule.verdict().message,
            "Loss_output_0: the loss, a cross entropy, begins at -2.2, where a "
            "guess among 10 classes has 2.303, at step 0 (TRAIN step 0)");
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  // A cross entropy among other terms, or of an adversarial training.
  for (const double first : {-0.9, -9.0}) {
    RuleHarness other("InitialLoss");
    EXPECT_EQ(fires(other, facts_of(), [&](Step) { return first; }), -1);
  }
  RuleHarness adversarial("InitialLoss");
  EXPECT_EQ(fires(adversarial, facts_of("binary_cross_entropy"),
                  [](Step) { return -0.69; }),
            -1);
}

TEST(InitialLoss, PassesIfItIsSoonNear) {
  RuleHarness rule("InitialLoss");
  const auto falls = [](Step step) { return step < 2 ? 40.0 : 9.0; };
  EXPECT_EQ(fires(rule, facts_of(), falls), -1);
  EXPECT_EQ(rule.verdict().status, RuleStatus::no_issues_found);
  RuleHarness low("InitialLoss");
  EXPECT_EQ(fires(low, facts_of(), [](Step) { return 9.2; }), -1);
  RuleHarness strict("InitialLoss", {{"max_ratio", "3.9"}});
  EXPECT_EQ(fires(strict, facts_of(), [](Step) { return 9.2; }), 3);
}

TEST(InitialLoss, LeavesNumbersThatAreNotFiniteToOtherRules) {
  RuleHarness rule("InitialLoss");
  EXPECT_EQ(fires(rule, facts_of(), [](Step) { return kInf; }), -1);
}

TEST(InitialLoss, IsNotJudgedIfTheWeightsLookTrained) {
  RuleHarness rule("InitialLoss");
  EXPECT_EQ(fires(rule, facts_of(), high, 9), -1);
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
  EXPECT_EQ(rule.verdict().message.find("nothing to judge"), 0u);
}

TEST(InitialLoss, IsNotJudgedIfTheFirstLossCameAfterAnUpdate) {
  RuleHarness rule("InitialLoss");
  rule.knows(facts_of(), "worker_0");
  for (Step step = 0; step < 6; ++step) {
    StepBuilder built(step);
    if (step > 0) built.with_scalar("Loss_output_0", high(step));
    built.with_statistics("Net_fc.weight", thousand(3.5));
    built.of_shape({50, 20});
    EXPECT_FALSE(rule.fires_at(built));
  }
  rule.finish();
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
}

TEST(InitialLoss, IsNotJudgedWithoutANumberOfClasses) {
  RuleHarness rule("InitialLoss");
  EXPECT_EQ(fires(rule, facts_of("mse_loss"), high), -1);
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
}

}  // namespace
}  // namespace smdebug
