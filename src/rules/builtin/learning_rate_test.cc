#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

using ByStep = std::function<double(Step)>;

// A training of a matrix with 1000 weights, saved as by `smdebug run`.
struct Case {
  std::string optimizer = "Adam";
  double momentum = 0;
  double weight = 0.05;    // the root mean square of the initial weights
  double gradient = 1e-4;  // of each element, without sign
  double crest = 1.73;     // the largest weight, as a multiple of `weight`
  Step steps = 200;
  ByStep rate = [](Step) { return 1e-5; };
  ByStep loss = [](Step) { return 2.3; };
  // The norm of the weights, as a multiple of the initial one.
  ByStep growth = [](Step) { return 1.0; };
  std::string second_loss = {};
  double weight_decay = 0;
  std::int64_t classes = 0;  // of a mean cross entropy; 0: another loss
  std::int64_t summed = 0;   // the samples of which the loss is a sum
  std::optional<double> norm_limit = {}, value_limit = {};
  std::uint64_t empty_clippings = 0;
  double initial_rate = 0;  // 0: no scheduler
  std::uint64_t scheduler_steps = 0;
  std::optional<std::uint64_t> summed_passes = {};
  std::string dtype = "float32";
};

TensorStatistics statistics_of(double size, double crest) {
  TensorStatistics statistics;
  statistics.count = 1000;
  statistics.min = -crest * size;
  statistics.max = crest * size;
  statistics.sum_abs = 1000 * size;
  statistics.m2 = statistics.sum_squares = 1000 * size * size;
  return statistics;
}

RunFacts facts_of(const Case& training) {
  RunFacts facts;
  ParameterFacts& parameter = facts.parameters.emplace_back();
  parameter.tensor = "Net_0.weight";
  parameter.updated_by = GroupPosition{0, 0};
  parameter.dtype = training.dtype;
  parameter.shape = {10, 100};
  facts.optimizers.push_back({training.optimizer,
                              {{1,
                                0,
                                {{"momentum", training.momentum},
                                 {"weight_decay", training.weight_decay}}}}});
  facts.optimizers[0].groups[0].settings["learning_rate"] = training.rate(0);
  if (training.classes > 0) {
    LossFacts& loss = facts.losses.emplace_back();
    loss.reduction = "mean";
    loss.input.emplace().function = "cross_entropy";
    loss.input->shape = {32, training.classes};
  }
  if (training.summed > 0) {
    LossFacts& loss = facts.losses.emplace_back();
    loss.reduction = "sum";
    loss.input.emplace().shape = {training.summed, 10};
  }
  facts.loop.gradient_norm_limit = training.norm_limit;
  facts.loop.gradient_value_limit = training.value_limit;
  facts.loop.empty_clippings = training.empty_clippings;
  facts.loop.summed_passes = training.summed_passes;
  if (training.initial_rate > 0) {
    facts.optimizers[0].groups[0].settings["initial_learning_rate"] =
        training.initial_rate;
    facts.loop.schedulers = {{"LambdaLR",
                              0,
                              training.scheduler_steps,
                              static_cast<std::uint64_t>(training.steps),
                              {}}};
  }
  return facts;
}

StepBuilder step_of(const Case& training, Step step) {
  StepBuilder built(step);
  built.with_statistics("gradient/Net_0.weight",
                        statistics_of(training.gradient, 1));
  built
      .with_statistics("Net_0.weight",
                       statistics_of(training.growth(step) * training.weight,
                                     training.crest))
      .of_shape({10, 100});
  return built;
}

// Feeds the training to the rule. Returns the step at which it fires; -1 if it
// does not.
Step fires(RuleHarness& rule, const Case& training) {
  rule.knows(facts_of(training), "worker_0");
  const std::string rate = "learning_rate/" + training.optimizer + "/0";
  for (Step step = 0; step < training.steps; ++step) {
    const StepId id = {step, Mode::train, step};
    const ScalarSample rates[] = {{id, training.rate(step)}};
    const ScalarSample losses[] = {{id, training.loss(step)}};
    std::vector<ScalarSeriesView> series = {{rate, rates},
                                            {"loss_output_0", losses}};
    if (!training.second_loss.empty()) {
      series.push_back({training.second_loss, losses});
    }
    rule.notes(series, "worker_0");
    const bool is_saved = step < 5 || step % 10 == 0;
    if (is_saved && rule.fires_at(step_of(training, step))) return step;
  }
  return rule.finish().status == RuleStatus::issues_found ? training.steps : -1;
}

Step fires(const Case& training) {
  RuleHarness rule("LearningRate");
  return fires(rule, training);
}

// Feeds the training to the rule as a live run does, which writes the samples
// of `interval` steps at once. Returns the verdict.
Verdict verdict_if_late(const Case& training, Step interval) {
  RuleHarness rule("LearningRate");
  rule.knows(facts_of(training), "worker_0");
  const std::string rate = "learning_rate/" + training.optimizer + "/0";
  std::vector<ScalarSample> rates, losses;
  for (Step step = 0; step < training.steps; ++step) {
    const StepId id = {step, Mode::train, step};
    rates.push_back({id, training.rate(step)});
    losses.push_back({id, training.loss(step)});
    if (step < 5 || step % 10 == 0) rule.fires_at(step_of(training, step));
    if (step % interval != interval - 1 && step + 1 < training.steps) continue;
    const ScalarSeriesView series[] = {{rate, rates},
                                       {"loss_output_0", losses}};
    rule.notes(series, "worker_0");
    rates.clear();
    losses.clear();
  }
  rule.finish();
  return rule.verdict();
}

// An update of 1e-5 per element of weights of 0.05 is 2e-4 of them; the loss
// may fall by 1000 * 1e-4 * 1e-5.
TEST(LearningRate, FindsUpdatesThatAreTooSmall) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, {}), 110);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: the learning rate of Adam is 1e-05: an update "
            "moves the weights by about 0.0002 of their size, and the loss "
            "went from 2.3 to 2.3 in 101 updates");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("too low"));
  EXPECT_EQ(rule.verdict().advice,
            "raise the learning rate, to about 0.0003: an update then changes "
            "the weights by about 0.5 % of their size");
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(LearningRate, FindsThemAlthoughTheLossFallsALittle) {
  EXPECT_EQ(
      fires({.loss = [](Step step) { return 2.3 - 1e-3 * double(step); }}),
      110);
}

TEST(LearningRate, AdvisesIfTheLossFallsSlowlyAndAtOneSpeed) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(
      fires(rule,
            {.loss = [](Step step) { return 2.3 - 2e-3 * double(step); }}),
      110);
  EXPECT_EQ(rule.verdict().severity, Severity::advice);
  EXPECT_EQ(rule.verdict().kind, "updates that are too small");
  EXPECT_THAT(rule.verdict().message,
              EndsWith("and the loss went from 2.281 to 2.119 in 101 updates, "
                       "as fast at the end as in the beginning"));
}

TEST(LearningRate, CountsTheMomentumOfTheOptimizer) {
  const Case slow = {
      .optimizer = "SGD", .momentum = 0.9, .gradient = 3e-3, .rate = [](Step) {
        return 3e-4;
      }};
  // 3e-4 * 3e-3 * 10 / 0.05 = 1.8e-4.
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, slow), 110);
  EXPECT_THAT(rule.verdict().message, HasSubstr("by about 0.00018 of"));
  EXPECT_THAT(rule.verdict().advice, HasSubstr("to about 0.008: "));
}

TEST(LearningRate, PassesALossThatFalls) {
  EXPECT_EQ(fires({.loss =
                       [](Step step) {
                         return 2.3 * std::exp(-1e-2 * double(step));
                       }}),
            -1);
}

TEST(LearningRate, PassesAUsualRateWhateverTheLossDoes) {
  EXPECT_EQ(fires({.rate = [](Step) { return 1e-3; }}), -1);
}

// A usual rate would not help: the gradients are too small.
TEST(LearningRate, DoesNotBlameItForVanishingGradients) {
  EXPECT_EQ(fires({.optimizer = "SGD",
                   .gradient = 1e-7,
                   .rate = [](Step) { return 1e-3; }}),
            -1);
}

// The loss falls by a hundredth of itself with each update of so many weights.
TEST(LearningRate, PassesUpdatesThatAreEnoughForTheLoss) {
  EXPECT_EQ(fires({.gradient = 2.3}), -1);
}

TEST(LearningRate, PassesSmallUpdatesOfTrainedWeights) {
  EXPECT_EQ(fires({.crest = 2.4}), -1);
  EXPECT_EQ(fires({.crest = 9}), -1);
}

// ln(10) is 2.303, and ln(100) is 4.605.
TEST(LearningRate, FindsThemInATrainedModelThatOnlyGuesses) {
  EXPECT_EQ(fires({.crest = 9, .classes = 10}), 110);
  EXPECT_EQ(fires({.crest = 9, .classes = 100}), -1);
  EXPECT_EQ(fires({.classes = 100}), -1);
}

TEST(LearningRate, PassesAWarmUpUntilTheTrainingEnds) {
  const ByStep warm_up = [](Step step) { return 1e-7 * double(step + 1); };
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, {.rate = warm_up}), 200);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the learning rate of Adam is 1.91e-05, and still "
                        "rises: an update moves"));
  EXPECT_THAT(rule.verdict().cause, HasSubstr("warm-up"));
  EXPECT_EQ(fires({.rate =
                       [](Step step) {
                         return std::min(1e-3, 1e-5 * double(step + 1));
                       }}),
            -1);
}

TEST(LearningRate, FindsFirstUpdatesAsLargeAsTheWeights) {
  const Case high = {
      .rate = [](Step) { return 0.5; },
      .loss = [](Step step) { return step == 0 ? 2.3 : 4.0; },
      .growth = [](Step step) { return step == 0 ? 1.0 : 10.0; }};
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, high), 50);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: the learning rate of Adam is 0.5: the first update "
            "moved the weights by 9.9 times their initial size, and the loss "
            "is 4 after 41 steps, no lower than it began (2.3)");
  EXPECT_THAT(
      rule.verdict().advice,
      testing::StartsWith("lower the learning rate, to about 0.0003: "));
  EXPECT_EQ(rule.verdict().evidence.front().step.global, 1);
}

TEST(LearningRate, BlamesGradientsThatAreSummedForLargeUpdates) {
  const Case summed = {
      .rate = [](Step) { return 0.5; },
      .loss = [](Step step) { return step == 0 ? 2.3 : 4.0; },
      .growth = [](Step step) { return step == 0 ? 1.0 : 10.0; },
      .summed_passes = 8};
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, summed), 50);
  EXPECT_EQ(rule.verdict().kind,
            "updates that are too large for gradients that are summed");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the learning rate of Adam is 0.5, and each update "
                        "sums the gradients of 8 backward passes: the first "
                        "update moved the weights by 9.9 times"));
  EXPECT_THAT(rule.verdict().advice,
              testing::StartsWith("divide each loss by the number"));
}

// The gradients of 8 backward passes: 0.1 is as large as 0.8 for a mean.
Case accumulated(ByStep loss) {
  return {.optimizer = "SGD",
          .gradient = 0.1,
          .rate = [](Step) { return 0.1; },
          .loss = std::move(loss),
          .summed_passes = 8};
}

TEST(LearningRate, FindsGradientsThatAreSummedIfTheLossDoesNotFall) {
  RuleHarness rule("LearningRate");
  ASSERT_EQ(fires(rule, accumulated([](Step) { return 2.3; })), 50);
  EXPECT_EQ(rule.verdict().kind,
            "updates that are too large for gradients that are summed");
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: each update sums the gradients of 8 backward "
            "passes, so that the learning rate 0.1 of SGD is as large as 0.8 "
            "would be with a mean: the loss began at 2.3 and is 2.3 after 41 "
            "steps");
  EXPECT_EQ(rule.verdict().evidence.front().quantity,
            "learning rate times backward passes");
}

TEST(LearningRate, PassesGradientsThatAreSummedIfTheLossFallsOrTheRateFits) {
  EXPECT_EQ(fires(accumulated([](Step step) {
              return 2.3 * std::exp(-0.01 * double(step));
            })),
            -1);
  Case fitting = accumulated([](Step) { return 2.3; });
  fitting.rate = [](Step) { return 1e-2; };
  EXPECT_EQ(fires(fitting), -1);
}

// A bfloat16 has 8 significant bits, so it rounds away less than 1/512.
TEST(LearningRate, FindsUpdatesThatNarrowWeightsRoundAway) {
  const Case narrow = {.rate = [](Step) { return 3e-5; }, .dtype = "bfloat16"};
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, narrow), 110);
  EXPECT_EQ(rule.verdict().kind, "updates that the weights round away");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("an update moves the weights by about 0.0006 of their "
                        "size"));
  EXPECT_THAT(rule.verdict().message,
              testing::EndsWith("; the weights round away less than 0.002 of "
                                "their size"));
  EXPECT_THAT(rule.verdict().advice, HasSubstr("torch.autocast"));
}

TEST(LearningRate, PassesNarrowWeightsThatMoveOrLearn) {
  const auto rate = [](Step) { return 1e-3; };
  EXPECT_EQ(fires({.rate = rate, .dtype = "bfloat16"}), -1);
  EXPECT_EQ(
      fires({.weight = 0.5,
             .rate = rate,
             .loss =
                 [](Step step) { return 2.3 * std::exp(-0.01 * double(step)); },
             .dtype = "bfloat16"}),
      -1);
}

TEST(LearningRate, PassesLargeUpdatesAfterWhichTheLossFalls) {
  EXPECT_EQ(fires({.rate = [](Step) { return 0.5; },
                   .loss =
                       [](Step step) {
                         return step == 0 ? 2.3
                                          : 4 * std::exp(-0.03 * double(step));
                       },
                   .growth = [](Step step) { return step == 0 ? 1.0 : 10.0; }}),
            -1);
}

// Small initial weights are another fault.
TEST(LearningRate, DoesNotBlameAUsualRateForLargeUpdates) {
  EXPECT_EQ(fires({.weight = 1e-4,
                   .rate = [](Step) { return 1e-3; },
                   .growth = [](Step step) { return step == 0 ? 1.0 : 10.0; }}),
            -1);
}

TEST(LearningRate, FindsASchedulerThatIsSteppedForEachBatch) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, {.rate =
                             [](Step step) {
                               return 1e-3 *
                                      std::pow(0.1,
                                               std::floor(double(step) / 5));
                             }}),
            110);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: the learning rate of Adam fell from 0.001 to 1e-05 "
            "in the first 10 steps; the loss was 2.3 then, is 2.3 after 101 "
            "steps, and began at 2.3");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("once per epoch"));
}

TEST(LearningRate, PassesSchedulesOfTheWholeTraining) {
  EXPECT_EQ(
      fires(
          {.rate = [](Step step) { return 1e-3 * (1 - double(step) / 200); }}),
      -1);
  // Restarts.
  EXPECT_EQ(
      fires({.rate = [](Step step) { return step % 100 < 20 ? 1e-3 : 1e-6; }}),
      -1);
}

// Weights that lose a tenth in each update.
Case decaying(const std::string& optimizer, double rate, double weight_decay) {
  return {.optimizer = optimizer,
          .rate = [rate](Step) { return rate; },
          .growth = [](Step step) { return std::pow(0.9, double(step)); },
          .weight_decay = weight_decay};
}

TEST(LearningRate, FindsAWeightDecayThatPullsTheWeightsToZero) {
  RuleHarness rule("LearningRate");
  // 0.9^20 is above a tenth, 0.9^30 is below; the next saved step closes it.
  EXPECT_EQ(fires(rule, decaying("SGD", 0.1, 1)), 40);
  EXPECT_EQ(rule.verdict().kind, "a weight decay that is too strong");
  EXPECT_EQ(rule.verdict().evidence.front().step.global, 30);
  EXPECT_THAT(rule.verdict().message,
              testing::StartsWith(
                  "loss_output_0: a weight decay of 1 in SGD (learning rate "
                  "0.1) pulls the weights to 0: their size is 0.042 of that at "
                  "first (the median of 1 weight), and the loss went from 2.3 "
                  "to 2.3 in "));
  EXPECT_EQ(fires(decaying("AdamW", 0.01, 10)), 40);
  EXPECT_EQ(fires(decaying("Adam", 0.001, 1)), 40);
}

TEST(LearningRate, PassesAUsualWeightDecayHoweverTheWeightsShrink) {
  EXPECT_EQ(fires(decaying("SGD", 0.1, 0.01)), -1);
  EXPECT_EQ(fires(decaying("AdamW", 0.003, 0.3)), -1);
  EXPECT_EQ(fires(decaying("Adam", 0.001, 0.01)), -1);
}

TEST(LearningRate, PassesAStrongWeightDecayIfTheModelLearns) {
  Case training = decaying("SGD", 0.1, 1);
  training.loss = [](Step step) {
    return 2.3 * std::exp(-0.02 * double(step));
  };
  EXPECT_EQ(fires(training), -1);
  training = decaying("SGD", 0.1, 1);
  training.growth = [](Step) { return 0.5; };
  EXPECT_EQ(fires(training), -1);
}

// The norm of 1000 elements of 0.1 is 3.16, and an update of 0.01 is a fifth of
// the weights. A limit of 1e-3 leaves 3.2e-4 of it.
Case clipped(std::optional<double> norm_limit) {
  return {.optimizer = "SGD",
          .gradient = 0.1,
          .rate = [](Step) { return 0.1; },
          .norm_limit = norm_limit};
}

TEST(LearningRate, FindsAClippingThatLeavesNothingOfTheGradients) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, clipped(1e-3)), 110);
  EXPECT_EQ(rule.verdict().kind, "a clipping that is too strong");
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: clipping to a norm of 0.001 leaves 0.00032 of the "
            "gradients, whose norm is 3.162: an update moves the weights by "
            "about 6.3e-05 of their size, and the loss went from 2.3 to 2.3 in "
            "101 updates");
  EXPECT_NEAR(rule.verdict().evidence.front().value, 1e-3 / std::sqrt(10),
              1e-6);
}

TEST(LearningRate, FindsAClippingOfElements) {
  Case training = clipped(std::nullopt);
  training.value_limit = 1e-4;
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, training), 110);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("clipping elements to 0.0001 leaves 0.001 of the"));
}

TEST(LearningRate, PassesAClippingThatIsUsualOrHarmless) {
  EXPECT_EQ(fires(clipped(std::nullopt)), -1);
  EXPECT_EQ(fires(clipped(1)), -1);
  Case learning = clipped(1e-3);
  learning.loss = [](Step step) {
    return 2.3 * std::exp(-0.01 * double(step));
  };
  EXPECT_EQ(fires(learning), -1);
  // Adam divides gradients by their size.
  EXPECT_EQ(fires({.gradient = 0.1,
                   .rate = [](Step) { return 1e-3; },
                   .norm_limit = 1e-3}),
            -1);
  // The gradients vanish, with or without it.
  EXPECT_EQ(fires({.optimizer = "SGD",
                   .gradient = 1e-5,
                   .rate = [](Step) { return 0.1; },
                   .norm_limit = 1e-6}),
            -1);
}

TEST(LearningRate, FindsClippingsThatComeBeforeTheGradients) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, {.loss =
                             [](Step) {
                               return std::numeric_limits<double>::quiet_NaN();
                             },
                         .empty_clippings = 10}),
            1);
  EXPECT_EQ(rule.verdict().kind,
            "a clipping before the gradients are computed");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("each of 10 clippings of gradients came before the "
                        "backward pass"));
  EXPECT_EQ(fires({.rate = [](Step) { return 1e-3; }, .empty_clippings = 9}),
            -1);
}

// Of 12 epochs, each with 40 updates: the first twelfths of a percent.
Case warmed_up_by_epochs() {
  return {
      .steps = 480,
      .rate = [](Step step) { return 1e-5 * double(1 + step / 40); },
      .loss = [](Step step) { return 2.3 * std::exp(-1e-3 * double(step)); },
      .initial_rate = 1e-3,
      .scheduler_steps = 12};
}

TEST(LearningRate, FindsAWarmUpWhoseSchedulerStepsOncePerEpoch) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, warmed_up_by_epochs()), 480);
  EXPECT_EQ(rule.verdict().kind, "a warm-up that steps too rarely");
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  EXPECT_THAT(
      rule.verdict().message,
      HasSubstr("12 % of the 0.001 to which its warm-up leads: LambdaLR "
                "has stepped once per 40 updates"));
}

TEST(LearningRate, PassesAWarmUpOfUpdatesAndAShortOneOfEpochs) {
  Case training = warmed_up_by_epochs();
  training.scheduler_steps = 480;
  EXPECT_EQ(fires(training), -1);
  training = warmed_up_by_epochs();  // of 12 epochs
  training.rate = [](Step step) { return 1e-3 * double(1 + step / 40) / 12; };
  EXPECT_EQ(fires(training), -1);
}

TEST(LearningRate, FindsARateThatHasDecayedToNothing) {
  const ByStep falling = [](Step step) {
    return 0.3 + std::exp(-0.1 * double(step));
  };
  RuleHarness rule("LearningRate");
  EXPECT_EQ(
      fires(rule, {.steps = 400,
                   .rate = [](Step step) { return step < 150 ? 1e-3 : 1e-9; },
                   .loss = falling}),
      260);
  EXPECT_EQ(rule.verdict().kind, "a learning rate that has decayed to nothing");
  EXPECT_EQ(rule.verdict().step.global, 150);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: the learning rate of Adam has fallen from 0.001 to "
            "1e-09, and the last 101 of 251 losses had less than a "
            "hundred-thousandth of it: the loss is 0.3");
  // A schedule that ends with 0.
  EXPECT_EQ(fires({.steps = 400,
                   .rate = [](Step step) { return step < 310 ? 1e-3 : 0; },
                   .loss = falling}),
            -1);
}

// The loss is a sum over 64 samples: 0.1 is as large as 6.4 for a mean.
Case summed(ByStep loss) {
  return {.optimizer = "SGD",
          .gradient = 0.1,
          .rate = [](Step) { return 0.1; },
          .loss = std::move(loss),
          .summed = 64};
}

TEST(LearningRate, FindsALossThatIsASumIfItDoesNotFall) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, summed([](Step) { return 147; })), 50);
  EXPECT_EQ(rule.verdict().kind,
            "updates that are too large for a loss that is a sum");
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: the loss is a sum over 64 samples, so that the "
            "learning rate 0.1 of SGD is as large as 6.4 would be with a mean: "
            "the loss began at 147 and is 147 after 41 steps");
}

TEST(LearningRate, FindsALossThatIsASumIfItIsNoLongerFinite) {
  RuleHarness rule("LearningRate");
  EXPECT_EQ(fires(rule, summed([](Step step) {
                    return step < 3 ? 147
                                    : std::numeric_limits<double>::infinity();
                  })),
            4);
  EXPECT_THAT(rule.verdict().message,
              EndsWith("the loss began at 147 and is not finite at step 3"));
}

TEST(LearningRate, PassesALossThatIsASumIfItFallsOrTheRateFits) {
  EXPECT_EQ(fires(summed([](Step step) {
              return 147 * std::exp(-0.01 * double(step));
            })),
            -1);
  Case fitting = summed([](Step) { return 147; });
  fitting.rate = [](Step) { return 1e-3; };
  EXPECT_EQ(fires(fitting), -1);
  Case clipping = summed([](Step) { return 147; });
  clipping.norm_limit = 1;
  EXPECT_EQ(fires(clipping), -1);
}

TEST(LearningRate, GivesTheSameVerdictIfLossesArriveLate) {
  const Case too_high = {
      .rate = [](Step) { return 0.1; },
      .growth = [](Step step) { return step == 0 ? 1.0 : 3.0; }};
  const Case decayed = {
      .rate = [](Step step) { return step < 20 ? 1e-3 : 1e-6; }};
  for (const Case& training : {Case(), too_high, decayed}) {
    const Verdict prompt = verdict_if_late(training, 1);
    EXPECT_EQ(prompt.status, RuleStatus::issues_found);
    for (const Step interval : {7, 60, 1000}) {
      const Verdict late = verdict_if_late(training, interval);
      EXPECT_EQ(late.status, prompt.status) << interval;
      EXPECT_EQ(late.message, prompt.message) << interval;
      EXPECT_EQ(late.evidence.at(0).step.global,
                prompt.evidence.at(0).step.global);
    }
  }
}

// Of an optimizer that is not known, only the schedule is judged.
TEST(LearningRate, DoesNotJudgeUnknownOptimizersAndSeveralLosses) {
  RuleHarness unknown("LearningRate");
  EXPECT_EQ(fires(unknown, {.optimizer = "LBFGS"}), -1);
  EXPECT_THAT(unknown.verdict().message, HasSubstr("of a known kind"));
  RuleHarness decayed("LearningRate");
  EXPECT_GT(fires(decayed,
                  {.optimizer = "LBFGS",
                   .rate = [](Step step) { return step < 20 ? 0.1 : 0.0005; }}),
            0);
  EXPECT_EQ(decayed.verdict().kind, "a learning rate that decayed early");
  EXPECT_THAT(decayed.verdict().message,
              HasSubstr("the learning rate of LBFGS fell from 0.1 to 0.001"));
  RuleHarness rivals("LearningRate");
  EXPECT_EQ(fires(rivals, {.second_loss = "loss_output_1"}), -1);
  EXPECT_EQ(rivals.verdict().status, RuleStatus::error);
  EXPECT_THAT(rivals.verdict().message,
              EndsWith("may rise: the training has several losses"));
}

TEST(LearningRate, LeavesALossThatIsNotFiniteToOtherRules) {
  EXPECT_EQ(fires({.rate = [](Step) { return 0.5; },
                   .loss =
                       [](Step step) {
                         return step < 5
                                    ? 2.3
                                    : std::numeric_limits<double>::quiet_NaN();
                       },
                   .growth = [](Step step) { return step == 0 ? 1.0 : 10.0; }}),
            -1);
}

}  // namespace
}  // namespace smdebug
