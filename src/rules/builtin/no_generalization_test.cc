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
            "Loss: none of 4 evaluations was at least 1 % below a guess among "
            "10 classes (2.303): the lowest mean validation loss is 2.3, while "
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

// The first evaluation was better than a guess by chance.
TEST(NoGeneralization, FindsAModelThatBecameWorseThanAGuessAndStayedSo) {
  std::vector<double> training, validation;
  for (int epoch = 0; epoch < 12; ++epoch) {
    training.push_back(2.3 - 0.05 * epoch);
    validation.push_back(2.25 + 0.03 * epoch);  // 2.25 / 2.303 = 0.977
  }
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_TRUE(trains(rule, training, validation));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the last 8 of 10 evaluations were worse than a guess "
                        "among 10 classes (2.303): the mean validation loss is "
                        "2.52, after 2.25 at best"));
  // As long as it was better, or if it was better by more.
  RuleHarness early("NoGeneralization"), overfits("NoGeneralization");
  early.knows(classifier(10), "worker_0");
  training.resize(9);
  validation.resize(9);
  EXPECT_FALSE(trains(early, training, validation));
  overfits.knows(classifier(10), "worker_0");
  std::vector<double> longer(20, 1.5), worse(20, 3.0);
  worse[0] = 2.2;  // 0.955
  EXPECT_FALSE(trains(overfits, longer, worse));
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
  EXPECT_EQ(rule.verdict().observations_found, 0);
}

TEST(NoGeneralization, NamesTheEvaluationsThatItLacks) {
  RuleHarness rule("NoGeneralization");
  rule.knows(classifier(10), "worker_0");
  EXPECT_FALSE(trains(rule, {2.3, 1.5}, {2.4, 2.5}));
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("2 evaluations are too few; 4 are needed"));
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
  EXPECT_THAT(
      rule.verdict().message,
      HasSubstr("none of 4 evaluations was at least 1 % below a guess"));
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

// Of a booster, round by round. After the given rounds, both losses change by
// a tenth of `slope` in each of ten more.
struct Boosting {
  std::string metric = "logloss";
  std::vector<double> training, validation;
  double slope = 0.02;             // of the validation loss
  std::vector<float> labels = {};  // of the validation set
};

bool boosts(RuleHarness& rule, Boosting boosting) {
  auto& [metric, training, validation, slope, labels] = boosting;
  for (int i = 0; i < 10; ++i) {
    training.push_back(0.98 * training.back());
    validation.push_back(validation.back() + slope / 10);
  }
  Step round = 0;
  for (std::size_t i = 0; i < training.size(); ++i, ++round) {
    StepBuilder step(StepId{round, Mode::global, round});
    step.with_scalar("train-" + metric, training[i])
        .with_scalar("validation-" + metric, validation[i]);
    if (round == 0 && !labels.empty())
      step.with_values("labels", labels, {std::ssize(labels)});
    rule.fires_at(std::move(step));
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
  EXPECT_TRUE(boosts(two, {.training = {0.64, 0.6, 0.5, 0.4},
                           .validation = {0.67, 0.68, 0.7, 0.8}}));
  RuleHarness learned = of_booster();
  EXPECT_FALSE(boosts(learned, {.training = {0.6, 0.5, 0.4, 0.3},
                                .validation = {0.65, 0.6, 0.6, 0.7}}));
  RuleHarness quick = of_booster();
  EXPECT_FALSE(boosts(quick, {.training = {0.3, 0.2, 0.1, 0.1},
                              .validation = {0.4, 0.4, 0.4, 0.5}}));
  RuleHarness random = of_booster();
  EXPECT_TRUE(boosts(random, {.metric = "mlogloss",
                              .training = {2.0, 1.5, 1.1, 0.8},
                              .validation = {2.31, 2.33, 2.4, 2.5}}));
  EXPECT_THAT(random.verdict().message,
              HasSubstr("none of the 9 later evaluations was at least 0.5 % "
                        "below the first (2.31): the lowest mean validation "
                        "loss is 2.33"));
  RuleHarness fast = of_booster();
  EXPECT_FALSE(boosts(fast, {.metric = "mlogloss",
                             .training = {0.5, 0.2, 0.1, 0.1},
                             .validation = {0.6, 0.6, 0.6, 0.6}}));
}

// The losses of XGBoost with 3 of 25 features that say a little, and a learning
// rate of 0.3: a validation loss that falls by 0.9 % and then rises.
TEST(NoGeneralization, PassesTreesThatLearnAWeakSignal) {
  const Boosting weak = {.training = {0.57, 0.53, 0.5, 0.47, 0.45},
                         .validation = {0.6109, 0.609, 0.607, 0.6056, 0.609},
                         .slope = 0.1};
  RuleHarness rule = of_booster();
  EXPECT_FALSE(boosts(rule, weak));
  EXPECT_EQ(rule.verdict().status, RuleStatus::no_issues_found);
}

TEST(NoGeneralization, WaitsForTenRoundsOfTrees) {
  Boosting slow = {.training = {0.57, 0.55, 0.53, 0.51},
                   .validation = {0.62, 0.619, 0.62, 0.619},
                   .slope = -0.05};
  RuleHarness rule = of_booster();
  EXPECT_FALSE(boosts(rule, slow));
}

// Of the first round nothing is known but its loss, unless the labels tell the
// loss of a guess: ln 2 for labels of which half are of each class.
TEST(NoGeneralization, ComparesTreesWithTheSharesOfTheLabels) {
  std::vector<float> labels;
  for (int i = 0; i < 100; ++i) labels.push_back(static_cast<float>(i % 2));
  const std::vector<double> training = {0.5, 0.4, 0.3};
  RuleHarness good = of_booster();
  EXPECT_FALSE(boosts(good, {.training = training,
                             .validation = {0.65, 0.66, 0.7},
                             .labels = labels}));
  EXPECT_EQ(good.verdict().status, RuleStatus::no_issues_found);
  RuleHarness weak = of_booster();
  EXPECT_FALSE(boosts(weak, {.training = training,
                             .validation = {0.71, 0.695, 0.73},
                             .labels = labels}));
  RuleHarness random = of_booster();
  EXPECT_TRUE(boosts(random, {.training = training,
                              .validation = {0.72, 0.715, 0.73},
                              .labels = labels}));
  EXPECT_THAT(random.verdict().message,
              HasSubstr("none of 10 evaluations was at least 0.5 % below a "
                        "guess by the shares of the 2 classes (0.6931): the "
                        "lowest mean validation loss is 0.715"));
}

// Without weights, the loss of a guess is 0.056.
TEST(NoGeneralization, DoesNotCompareWeightedTreesWithTheSharesOfTheLabels) {
  std::vector<float> labels(100);
  labels[0] = 1;
  RuleHarness rule = of_booster();
  EXPECT_FALSE(boosts(rule, {.training = {0.6, 0.3, 0.1, 0.04},
                             .validation = {0.67, 0.5, 0.4, 0.3},
                             .labels = labels}));
}

TEST(NoGeneralization, DoesNotJudgeMetricsThatAreNoLosses) {
  RuleHarness rule = of_booster();
  EXPECT_FALSE(boosts(rule, {.metric = "auc",
                             .training = {0.6, 0.5, 0.4, 0.3},
                             .validation = {0.7, 0.7, 0.7, 0.7}}));
  EXPECT_EQ(rule.verdict().status, RuleStatus::error);
}

}  // namespace
}  // namespace smdebug
