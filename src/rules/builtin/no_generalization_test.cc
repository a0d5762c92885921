#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

RunFacts classifier(std::int64_t classes) {
  LossInputFacts input;
  input.function = "cross_entropy";
  input.shape = {32, classes};
  RunFacts facts;
  facts.losses = {{"Loss", "CrossEntropyLoss", "mean", {}, input}};
  return facts;
}

// A training of epochs with one training and two validation losses each, by
// way of saved tensors.
bool trains(RuleHarness& rule, const std::vector<double>& training,
            const std::vector<double>& validation) {
  Step step = 0;
  for (std::size_t epoch = 0; epoch < training.size(); ++epoch) {
    const auto number = static_cast<Step>(epoch);
    rule.fires_at(StepBuilder({step++, Mode::train, number})
                      .with_scalar("Loss", training[epoch]));
    for (const double difference : {-0.01, 0.01}) {
      rule.fires_at(StepBuilder({step, Mode::eval, step})
                        .with_scalar("Loss", validation[epoch] + difference));
      ++step;
    }
  }
  return rule.finish().status == RuleStatus::issues_found;
}

// ln(10) = 2.303.
TEST(NoGeneralization, FindsAModelThatMemorizesLabelsWhichAreNotOfItsInputs) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_TRUE(trains(rule, {2.31, 2.3, 2.27, 2.2}, {2.32, 2.30, 2.4, 2.5}));
  EXPECT_EQ(rule.verdict().message,
            "Loss: none of 4 evaluations was better than a guess among 10 "
            "classes (2.303): the lowest mean validation loss is 2.3, while "
            "the mean training loss has fallen to 2.2, until step 11 (EVAL "
            "step 11)");
  EXPECT_THAT(rule.verdict().cause,
              HasSubstr("labels that do not belong to the inputs"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

// It learned what holds for both sets before it memorized.
TEST(NoGeneralization, PassesAModelThatOverfits) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_FALSE(trains(rule, {2.3, 1.5, 0.5, 0.01}, {2.1, 1.9, 2.6, 3.9}));
  EXPECT_EQ(rule.verdict().status, RuleStatus::no_issues_found);
}

TEST(NoGeneralization, PassesAModelThatLearnsNothing) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_FALSE(trains(rule, {2.31, 2.30, 2.30, 2.29}, {2.3, 2.3, 2.3, 2.3}));
}

TEST(NoGeneralization, JudgesNothingWithoutTheLossOfAGuess) {
  RuleHarness rule("NoGeneralization");
  EXPECT_FALSE(trains(rule, {2.3, 1.5, 0.5, 0.01}, {2.4, 2.5, 2.6, 3.9}));
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the loss of a guess is unknown"));
}

TEST(NoGeneralization, JudgesNothingWithoutEvaluations) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  rule.fires_at(StepBuilder(0).with_scalar("Loss", 1));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("no loss of an EVAL step"));
}

// A training that `smdebug run` records, with the losses of all steps: 50 of
// training and seven of validation in each epoch. They are `noise` above and
// below the means in turn.
bool launched(RuleHarness& rule, const std::vector<double>& training,
              const std::vector<double>& validation, double noise) {
  Step step = 0;
  for (std::size_t epoch = 0; epoch < training.size(); ++epoch) {
    std::vector<ScalarSample> trained, evaluated;
    const auto add = [&](std::vector<ScalarSample>& all, Mode mode,
                         double mean) {
      const double sign = all.size() % 2 == 0 ? 1 : -1;
      all.push_back({{step, mode, step}, mean + sign * noise});
      ++step;
    };
    for (int i = 0; i < 50; ++i) add(trained, Mode::train, training[epoch]);
    for (int i = 0; i < 7; ++i) add(evaluated, Mode::eval, validation[epoch]);
    const ScalarSeriesView series[] = {{"CELoss_output_0", evaluated},
                                       {"loss_output_0", trained}};
    rule.notes(series, "worker_0");
    rule.fires_at(StepBuilder(trained[0].step)
                      .with_scalar("CELoss_output_0", trained[0].value));
    rule.fires_at(StepBuilder(evaluated[0].step)
                      .with_scalar("CELoss_output_0", evaluated[0].value));
  }
  return rule.finish().status == RuleStatus::issues_found;
}

TEST(NoGeneralization, FindsASmallFallThatIsCertain) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_TRUE(
      launched(rule, {2.31, 2.29, 2.28, 2.27}, {2.30, 2.31, 2.32, 2.32}, 0.02));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("none of 4 evaluations was better than a guess"));
  EXPECT_EQ(rule.verdict().evidence[0].step.global, 4 * 57 - 1);
}

// The standard error is 1 / sqrt(50) = 0.14, and 0.4 for the validation losses.
TEST(NoGeneralization, PassesAFallThatMayBeNoise) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_FALSE(
      launched(rule, {2.31, 2.29, 2.28, 2.27}, {2.30, 2.31, 2.32, 2.32}, 1));
}

TEST(NoGeneralization, PassesAModelThatLearnsSlowlyOnBothSets) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_FALSE(launched(rule, {2.31, 2.29, 2.28, 2.27},
                        {2.30, 2.29, 2.285, 2.28}, 0.02));
}

TEST(NoGeneralization, JudgesTwoEvaluationsOfATrainingThatHasEnded) {
  for (const double last : {2.32, 2.27}) {
    RuleHarness rule("NoGeneralization");
    rule.knows(classifier(10), "worker_0");
    EXPECT_EQ(launched(rule, {2.29, 2.25}, {2.31, last}, 0.02), last > 2.3);
    EXPECT_EQ(rule.verdict().status, last > 2.3 ? RuleStatus::issues_found
                                                : RuleStatus::no_issues_found);
  }
  RuleHarness patient("NoGeneralization", {{"patience_at_end", "3"}});
  patient.knows(classifier(10), "worker_0");
  EXPECT_FALSE(launched(patient, {2.29, 2.25}, {2.31, 2.32}, 0.02));
  EXPECT_EQ(patient.verdict().status, RuleStatus::error);
}

// Of a booster, round by round.
bool boosts(RuleHarness& rule, const std::string& metric,
            const std::vector<double>& training,
            const std::vector<double>& validation) {
  Step round = 0;
  for (std::size_t i = 0; i < training.size(); ++i, ++round) {
    rule.fires_at(StepBuilder({round, Mode::global, round})
                      .with_scalar("train-" + metric, training[i])
                      .with_scalar("validation-" + metric, validation[i]));
  }
  return rule.finish().status == RuleStatus::issues_found;
}

RuleHarness of_booster() {
  RuleHarness rule("NoGeneralization");
  rule.in_a_run_with({{"losses", {"^(train|validation)-"}, {}}});
  return rule;
}

// With a learning rate of 1, the first round may be as good as the last.
TEST(NoGeneralization, ComparesRoundsOfXgboostWithTheFirst) {
  RuleHarness two = of_booster();
  EXPECT_TRUE(
      boosts(two, "logloss", {0.64, 0.6, 0.5, 0.4}, {0.67, 0.68, 0.7, 0.8}));
  RuleHarness learned = of_booster();
  EXPECT_FALSE(
      boosts(learned, "logloss", {0.6, 0.5, 0.4, 0.3}, {0.65, 0.6, 0.6, 0.7}));
  RuleHarness quick = of_booster();
  EXPECT_FALSE(
      boosts(quick, "logloss", {0.3, 0.2, 0.1, 0.1}, {0.4, 0.4, 0.4, 0.5}));
  RuleHarness random = of_booster();
  EXPECT_TRUE(
      boosts(random, "mlogloss", {2.0, 1.5, 1.1, 0.8}, {2.31, 2.33, 2.4, 2.5}));
  EXPECT_THAT(random.verdict().message,
              HasSubstr("was better than the first evaluation (2.31)"));
  RuleHarness fast = of_booster();
  EXPECT_FALSE(
      boosts(fast, "mlogloss", {0.5, 0.2, 0.1, 0.1}, {0.6, 0.6, 0.6, 0.6}));
}

TEST(NoGeneralization, DoesNotJudgeMetricsThatAreNoLosses) {
  RuleHarness rule = of_booster();
  EXPECT_FALSE(boosts(rule, "auc", {0.6, 0.5, 0.4, 0.3}, {0.7, 0.7, 0.7, 0.7}));
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
}

}  // namespace
}  // namespace smdebug
