#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

// A loss of scores and class labels, with nothing wrong.
LossInputFacts cross_entropy() {
  LossInputFacts input;
  input.function = "cross_entropy";
  input.steps = 3;
  input.shape = {32, 10};
  input.activation = "Linear";
  input.ignored = 0.25;
  return input;
}

LossInputFacts mean_square(std::vector<std::int64_t> shape,
                           std::vector<std::int64_t> target_shape) {
  LossInputFacts input;
  input.function = "mse_loss";
  input.steps = 3;
  input.shape = std::move(shape);
  input.target_shape = std::move(target_shape);
  input.activation = "Linear";
  return input;
}

LossInputFacts given_to(std::string function, std::string activation,
                        std::string values) {
  LossInputFacts input;
  input.function = std::move(function);
  input.steps = 3;
  input.shape = {32, 10};
  input.activation = std::move(activation);
  input.values = std::move(values);
  return input;
}

RunFacts facts_with(const LossInputFacts& input, Step step = 2) {
  RunFacts facts;
  facts.step = step;
  facts.losses = {{"loss_output_0", input.function, "mean", -100, input}};
  return facts;
}

// The step at which the rule fires in a run of 50 steps; -1 if it does not.
Step fires_with(RuleHarness& rule, const LossInputFacts& input) {
  for (Step step = 0; step < 50; step += 2) {
    if (step == 2) rule.knows(facts_with(input), "worker_0");
    if (rule.fires_at(StepBuilder(step).with_scalar("Loss", 1))) return step;
  }
  return -1;
}

bool fires(const LossInputFacts& input) {
  RuleHarness rule("LossInput");
  return fires_with(rule, input) >= 0;
}

// The kind of the finding; empty if there is none.
std::string kind_of(const LossInputFacts& input) {
  RuleHarness rule("LossInput");
  fires_with(rule, input);
  return rule.verdict().kind;
}

TEST(LossInput, FindsASoftmaxBeforeACrossEntropy) {
  RuleHarness rule("LossInput");
  EXPECT_EQ(
      fires_with(rule, given_to("cross_entropy", "Softmax", "probabilities")),
      4);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: cross_entropy is given probabilities, the result "
            "of a softmax, and applies a softmax itself, in each of 3 saved "
            "steps, at step 4 (TRAIN step 4)");
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  EXPECT_THAT(rule.verdict().cause, HasSubstr("a softmax at the end"));
  EXPECT_EQ(rule.verdict().evidence.size(), 1u);
}

TEST(LossInput, FindsASoftmaxOverTheBatch) {
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, given_to("cross_entropy", "Linear",
                                      "log_probabilities_of_batch")),
            4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given the result of a log_softmax along dimension "
                        "0 of (32, 10), in each of 3 saved steps"));
  EXPECT_THAT(rule.verdict().advice, HasSubstr("dim=1"));
}

TEST(LossInput, FindsASoftmaxOverAnotherDimensionThanTheClasses) {
  for (const auto& [activation, softmax] :
       {std::pair("Linear", "the result of a log_softmax"),
        std::pair("Log", "the logarithm of a softmax")}) {
    LossInputFacts input =
        given_to("nll_loss", activation, "log_probabilities_of_others");
    input.shape = {32, 10, 5};
    RuleHarness rule("LossInput");
    EXPECT_EQ(fires_with(rule, input), 4);
    EXPECT_THAT(rule.verdict().message,
                HasSubstr(std::string("is given ") + softmax +
                          " of shape (32, 10, 5), and its probabilities do "
                          "not sum to 1 over the classes"));
    EXPECT_THAT(rule.verdict().advice, HasSubstr("dim=1"));
  }
}

TEST(LossInput, NamesTheOperationThatMadeALossNotFinite) {
  RunFacts facts;
  facts.step = 1;
  facts.losses = {{"loss_output_0", "cross_entropy", "mean", -100, {}}};
  facts.loop.not_finite_by = {"log of 0", 0, 3, 320};
  RuleHarness rule("LossInput");
  rule.knows(facts, "worker_0");
  EXPECT_TRUE(rule.fires_at(StepBuilder(2).with_scalar("Loss", 1)));
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: the loss is not finite at step 0: log of 0, in 3 "
            "of the 320 elements of its argument");
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
  EXPECT_THAT(rule.verdict().cause, HasSubstr("a probability"));
}

TEST(LossInput, NamesTheOperationThatMakesTheGradientOfALossNotFinite) {
  RunFacts facts;
  facts.step = 1;
  facts.loop.not_finite_by = {"gradient of a root of 0", 3, 1, 32};
  RuleHarness rule("LossInput");
  rule.knows(facts, "worker_0");
  EXPECT_TRUE(rule.fires_at(StepBuilder(2).with_scalar("Loss", 1)));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the gradient is not finite at step 3: gradient of a "
                        "root of 0, in 1 of the 32 elements"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(LossInput, PassesAnOperationThatItDoesNotKnow) {
  RunFacts facts;
  facts.step = 1;
  facts.loop.not_finite_by = {"an operation of a later version", 0, 3, 320};
  RuleHarness rule("LossInput");
  rule.knows(facts, "worker_0");
  EXPECT_FALSE(rule.fires_at(StepBuilder(2).with_scalar("Loss", 1)));
}

TEST(LossInput, PassesWhatACrossEntropyTakes) {
  EXPECT_FALSE(fires(cross_entropy()));
  EXPECT_FALSE(
      fires(given_to("cross_entropy", "LogSoftmax", "log_probabilities")));
  // Another activation, or values that only look like probabilities.
  EXPECT_FALSE(fires(given_to("cross_entropy", "Softmax", "")));
  EXPECT_FALSE(fires(given_to("cross_entropy", "Linear", "probabilities")));
  EXPECT_FALSE(fires(given_to("cross_entropy", "", "probabilities")));
}

TEST(LossInput, FindsASigmoidBeforeABinaryCrossEntropyWithLogits) {
  const std::string with_logits = "binary_cross_entropy_with_logits";
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, given_to(with_logits, "Sigmoid", "probabilities")),
            4);
  EXPECT_THAT(rule.verdict().message, HasSubstr("applies a sigmoid itself"));
  EXPECT_FALSE(fires(given_to(with_logits, "Linear", "probabilities")));
  EXPECT_FALSE(fires(given_to(with_logits, "", "probabilities")));
  EXPECT_FALSE(
      fires(given_to("binary_cross_entropy", "Sigmoid", "probabilities")));
}

TEST(LossInput, FindsALossOfLogProbabilitiesWithoutTheirLogarithm) {
  for (const char* function : {"nll_loss", "kl_div"}) {
    RuleHarness rule("LossInput");
    EXPECT_EQ(fires_with(rule, given_to(function, "Softmax", "probabilities")),
              4);
    EXPECT_THAT(rule.verdict().cause, HasSubstr("instead of log_softmax"));
    RuleHarness other("LossInput");
    EXPECT_EQ(fires_with(other, given_to(function, "Linear", "scores")), 4);
    EXPECT_THAT(other.verdict().cause, HasSubstr("a missing log_softmax"));
    EXPECT_FALSE(fires(given_to(function, "Log", "log_probabilities")));
    // A focal loss weights the log-probabilities.
    EXPECT_FALSE(fires(given_to(function, "Mul", "scores")));
    EXPECT_FALSE(fires(given_to(function, "Mul", "")));
  }
}

TEST(LossInput, FindsWhatIsNoProbabilityForALossOfProbabilities) {
  for (const char* function :
       {"binary_cross_entropy", "categorical_cross_entropy"}) {
    RuleHarness rule("LossInput");
    EXPECT_EQ(fires_with(rule, given_to(function, "Relu", "")), 4);
    EXPECT_THAT(rule.verdict().message,
                HasSubstr("is given the result of 'Relu', and expects "
                          "probabilities"));
    EXPECT_THAT(rule.verdict().advice, HasSubstr("from_logits=True"));
    EXPECT_EQ(rule.verdict().severity, Severity::serious);
    RuleHarness other("LossInput");
    EXPECT_EQ(fires_with(other, given_to(function, "Linear", "scores")), 4);
    EXPECT_THAT(other.verdict().message,
                HasSubstr("the result of a linear layer"));
  }
}

TEST(LossInput, FindsNumbersThatAreNoProbabilitiesInTenSteps) {
  LossInputFacts input = given_to("binary_cross_entropy", "", "scores");
  input.steps = 9;
  EXPECT_FALSE(fires(input));
  input.steps = 10;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given numbers below 0 or above 1"));
}

TEST(LossInput, PassesProbabilitiesForALossOfProbabilities) {
  for (const char* function :
       {"binary_cross_entropy", "categorical_cross_entropy"}) {
    for (const char* activation : {"Softmax", "Sigmoid", "Linear", ""})
      EXPECT_FALSE(fires(given_to(function, activation, "probabilities")));
    // Keras divides what is positive by its sum.
    LossInputFacts positive = given_to(function, "", "");
    positive.steps = 10;
    EXPECT_FALSE(fires(positive));
  }
}

TEST(LossInput, FindsASoftmaxOverOneUnit) {
  LossInputFacts input = given_to("mse_loss", "Softmax", "");
  input.shape = {32, 1};
  input.equal_outputs = 3;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("mse_loss is given the result of a softmax over one "
                        "unit, which is always 1"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  // A softmax over the samples.
  input.equal_outputs = 0;
  EXPECT_FALSE(fires(input));
  input.equal_outputs = 3;
  input.shape = {32, 2};
  EXPECT_FALSE(fires(input));
}

// Three classes for one sigmoid.
LossInputFacts three_classes() {
  LossInputFacts input =
      given_to("binary_cross_entropy", "Sigmoid", "probabilities");
  input.shape = {32, 1};
  input.steps = 10;
  input.outside = 0.3;
  input.target_low = 0;
  input.target_high = 2;
  input.targets.emplace();
  input.targets->labels = 320;
  input.targets->classes = 3;
  return input;
}

TEST(LossInput, FindsLabelsOfThreeClassesForOneOutput) {
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, three_classes()), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given one output per sample and labels of 3 "
                        "classes (targets from 0 to 2)"));
  EXPECT_THAT(rule.verdict().advice, HasSubstr("one unit per class"));
}

TEST(LossInput, CallsWholeNumbersClassesOnlyIfEachOccursOften) {
  LossInputFacts prices = three_classes();
  prices.targets->classes = 200;
  prices.target_high = 400;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, prices), 4);
  EXPECT_THAT(rule.verdict().message, HasSubstr("are out of reach"));
  LossInputFacts two = three_classes();
  two.outside = 0;
  EXPECT_FALSE(fires(two));
}

TEST(LossInput, FindsSeveralClassesPerSampleUnderACrossEntropy) {
  LossInputFacts input = cross_entropy();
  input.steps = 10;
  input.outside = 1;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given targets of which 100 % or more of the rows "
                        "do not sum to 1"));
  EXPECT_EQ(rule.verdict().kind, "rows of targets that do not sum to 1");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("nn.BCEWithLogitsLoss"));
  input.function =
      "categorical_cross_entropy";  // labels out of one_hot's range
  input.activation = "Softmax";
  input.outside = 0.2;
  EXPECT_EQ(kind_of(input), "rows of targets that do not sum to 1");
  input.outside = 0;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, FindsMasksThatAreNoProbabilities) {
  LossInputFacts masks;
  masks.function = "binary_cross_entropy_with_logits";
  masks.shape = {16, 1, 32, 32};
  masks.steps = 10;
  masks.outside = 0.04;
  masks.target_low = 0;
  masks.target_high = 255;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, masks), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given targets below 0 or above 1, which are no "
                        "probabilities (targets from 0 to 255)"));
  masks.outside = 0;
  masks.target_high = 1;
  EXPECT_FALSE(fires(masks));
}

TEST(LossInput, FindsShapesThatBroadcastToAllPairs) {
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, mean_square({50, 1}, {50})), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("an input of shape (50, 1) and targets of shape "
                        "(50,), and compares each with all others"));
  EXPECT_TRUE(fires(mean_square({50}, {50, 1})));
}

TEST(LossInput, PassesShapesThatAreMeant) {
  EXPECT_FALSE(fires(mean_square({50, 1}, {50, 1})));
  EXPECT_FALSE(fires(mean_square({50}, {50})));
  EXPECT_FALSE(fires(mean_square({1, 1}, {1})));       // a batch of one
  EXPECT_FALSE(fires(mean_square({50, 1}, {1, 50})));  // all pairs
  EXPECT_FALSE(fires(mean_square({50, 10}, {10})));    // one target for all
  EXPECT_FALSE(fires(mean_square({50, 1}, {})));
  EXPECT_FALSE(fires(mean_square({1, 50}, {50})));  // no pairs
  LossInputFacts unknown = mean_square({50, 1}, {50});
  unknown.target_shape.reset();
  EXPECT_FALSE(fires(unknown));
}

TEST(LossInput, FindsThatAllLabelsAreIgnored) {
  LossInputFacts input = cross_entropy();
  input.ignored = 1;
  EXPECT_FALSE(fires(input)) << "three short batches may have no label";
  input.steps = 5;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_THAT(rule.verdict().message, HasSubstr("only labels that it ignores"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
  input.ignored = 0.99;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, FindsClassLabelsThatAreNoWholeNumbers) {
  LossInputFacts input = cross_entropy();
  input.fractional = 0;
  EXPECT_FALSE(fires(input));
  input.fractional = 0.75;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given class labels of which up to 75 % are no "
                        "whole numbers"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(LossInput, AdvisesOnPaddingThatCounts) {
  LossInputFacts input = cross_entropy();
  input.steps = 10;
  input.padding = 0.4;
  input.padding_label = 0;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_EQ(rule.verdict().severity, Severity::advice);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: cross_entropy is given targets of which 40 % or "
            "more are padding (label 0), and counts them, in each of 10 saved "
            "steps, at step 4 (TRAIN step 4)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("ignore_index"));
}

TEST(LossInput, PassesLittlePaddingAndThatOfAFewSteps) {
  LossInputFacts input = cross_entropy();
  input.steps = 10;
  input.padding = 0.09;
  EXPECT_FALSE(fires(input));
  input.steps = 5;
  input.padding = 0.4;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, PutsAFaultBeforePaddingThatCounts) {
  LossInputFacts input = cross_entropy();
  input.steps = input.equal_outputs = 10;
  input.padding = 0.4;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_EQ(rule.verdict().kind, "the same output for all samples");
}

TEST(LossInput, FindsASoftmaxForSamplesWithSeveralClasses) {
  LossInputFacts input =
      given_to("binary_cross_entropy", "Softmax", "distributions");
  input.steps = 10;
  input.outside = 0.7;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_EQ(rule.verdict().kind, "several classes per sample behind a softmax");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("is given outputs that sum to 1, and targets of which "
                        "70 % or more of the rows do not, in each of 10"));
  EXPECT_THAT(rule.verdict().advice, HasSubstr("sigmoid"));
  input.outside = 0;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, BlamesManySaturatingLayersForEqualOutputs) {
  LossInputFacts input = cross_entropy();
  input.steps = input.equal_outputs = 10;
  RunFacts facts = facts_with(input);
  const auto kind_with = [&](std::size_t layers) {
    facts.modules.assign(layers, {.path = "act", .kind = "Sigmoid"});
    RuleHarness rule("LossInput");
    rule.knows(facts, "worker_0");
    rule.fires_at(StepBuilder(4).with_scalar("Loss", 1));
    return rule.verdict().kind;
  };
  EXPECT_EQ(kind_with(4),
            "the same output for all samples behind saturating layers");
  EXPECT_EQ(kind_with(1), "the same output for all samples");
}

TEST(LossInput, FindsADivergenceThatOutweighsTheReconstruction) {
  LossInputFacts input = mean_square({32, 64}, {32, 64});
  input.divergence_weight = 2048;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0: mse_loss is minimized together with the divergence "
            "of a normal distribution that counts 2.05e+03 times as much as in "
            "an evidence lower bound, in each of 3 saved steps, at step 4 "
            "(TRAIN step 4)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("reduction='sum'"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  // Some models learn better with several times the weight.
  input.divergence_weight = 10;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, FindsWhatTheGraphOfTheModelShows) {
  LossInputFacts mixed = cross_entropy();
  mixed.mixes_places = true;
  EXPECT_EQ(kind_of(mixed), "scores of several places in one row");
  LossInputFacts linear = mean_square({50, 1}, {50, 1});
  linear.linear_layers = 3;
  EXPECT_EQ(kind_of(linear), "linear layers without activations");
  RunFacts frozen = facts_with(linear);
  frozen.parameters.emplace_back().is_trainable = false;
  RuleHarness rule("LossInput");
  rule.knows(frozen, "worker_0");
  EXPECT_FALSE(rule.fires_at(StepBuilder(4).with_scalar("Loss", 1)))
      << "a frozen part may have the activations";
  LossInputFacts weighing = cross_entropy();
  weighing.has_softmax_of_one = true;
  EXPECT_EQ(kind_of(weighing), "a softmax over a single score");
  LossInputFacts among_samples = cross_entropy();
  among_samples.has_softmax_of_batch = true;
  EXPECT_EQ(kind_of(among_samples),
            "a softmax over the samples inside the model");
  LossInputFacts language = cross_entropy();
  language.sees_later = true;
  EXPECT_EQ(kind_of(language), "") << "labels that are no tokens";
  language.target_shift = 1;
  EXPECT_EQ(kind_of(language), "attention to the tokens that are predicted");
  language.sees_later = false;
  EXPECT_EQ(kind_of(language), "");
}

TEST(LossInput, FindsAClassThatTheLossIgnores) {
  LossInputFacts input = cross_entropy();
  input.steps = 10;
  input.ignored_tokens = 6;
  EXPECT_EQ(kind_of(input), "a class that the loss ignores");
  input.ignored_tokens = 5;
  EXPECT_EQ(kind_of(input), "") << "marks of the beginning and the end";
}

TEST(LossInput, FindsWeightsThatFavorTheLargestClass) {
  LossInputFacts input = cross_entropy();
  input.steps = 0;  // of trees, all labels are known
  DataFacts& labels = input.targets.emplace();
  labels.labels = 500;
  labels.classes = 3;
  labels.largest_class = 400;
  labels.smallest_class = 20;
  input.weight_of_largest_class = 4;
  input.weight_of_smallest_class = 2;
  EXPECT_EQ(kind_of(input), "weights that favor the largest class");
  input.weight_of_smallest_class = 2.1;
  EXPECT_EQ(kind_of(input), "");
  input.weight_of_smallest_class = 2;
  labels.smallest_class = 4;
  EXPECT_EQ(kind_of(input), "") << "too few labels to know";
  labels.smallest_class = 201;
  EXPECT_EQ(kind_of(input), "") << "about as many labels";
  labels.smallest_class = 20;
  labels.labels = 199;
  EXPECT_EQ(kind_of(input), "") << "too few labels to know";
}

TEST(LossInput, FindsTheSameOutputInTenSteps) {
  LossInputFacts input = cross_entropy();
  input.steps = input.equal_outputs = 5;
  EXPECT_FALSE(fires(input));
  input.steps = input.equal_outputs = 10;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  EXPECT_THAT(rule.verdict().cause, HasSubstr("a softmax over one unit"));
  input.equal_outputs = 9;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, FindsTargetsThatTheActivationCannotGive) {
  LossInputFacts input = mean_square({50, 1}, {50, 1});
  input.activation = "Relu";
  input.steps = 10;
  input.outside = 0.375;
  input.target_low = -2.5;
  input.target_high = 4;
  RuleHarness rule("LossInput");
  EXPECT_EQ(fires_with(rule, input), 4);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("targets of which 38 % or more are out of reach for "
                        "the result of 'Relu' (targets from -2.5 to 4)"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  input.outside = 0.05;
  EXPECT_FALSE(fires(input));
  input.outside = 0.5;
  input.steps = 5;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, FindsTokensThatAreNotShiftedByOne) {
  LossInputFacts input = cross_entropy();
  RuleHarness twice("LossInput");
  input.target_shift = 2;
  EXPECT_EQ(fires_with(twice, input), 4);
  EXPECT_EQ(twice.verdict().severity, Severity::serious);
  EXPECT_THAT(twice.verdict().message,
              HasSubstr("is given targets that are the tokens of the model's "
                        "input 2 places further on, in each of 3 saved steps"));
  EXPECT_THAT(twice.verdict().cause, HasSubstr("shifted twice"));
  RuleHarness never("LossInput");
  input.target_shift = 0;
  EXPECT_EQ(fires_with(never, input), 4);
  EXPECT_EQ(never.verdict().severity, Severity::advice);
  EXPECT_THAT(never.verdict().cause, HasSubstr("labels that are not shifted"));
  input.target_shift = 1;
  EXPECT_FALSE(fires(input));
}

TEST(LossInput, LetsFurtherLossesPredictLaterTokens) {
  LossInputFacts next = cross_entropy();
  next.target_shift = 1;
  LossInputFacts later = cross_entropy();
  later.target_shift = 2;
  RunFacts facts = facts_with(later);
  facts.losses.push_back({"loss_output_1", next.function, "mean", -100, next});
  RuleHarness rule("LossInput");
  rule.knows(facts, "worker_0");
  EXPECT_FALSE(rule.fires_at(StepBuilder(4).with_scalar("Loss", 1)));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(LossInput, NeverJudgesAFunctionThatItDoesNotKnow) {
  for (const char* values : {"probabilities", "scores", ""}) {
    for (const char* activation : {"Softmax", "Sigmoid", "Linear", ""})
      EXPECT_FALSE(fires(given_to("poisson_nll_loss", activation, values)));
  }
}

TEST(LossInput, JudgesTheFactsOfTheLastStepAtTheEnd) {
  RuleHarness rule("LossInput");
  const auto input = given_to("cross_entropy", "Softmax", "probabilities");
  rule.knows(facts_with(input, 6), "worker_1");
  EXPECT_FALSE(rule.fires_at(StepBuilder(6).with_scalar("Loss", 1)));
  EXPECT_EQ(rule.finish().status, RuleStatus::issues_found);
  EXPECT_THAT(rule.verdict().message, HasSubstr("loss_output_0 (worker_1): "));
}

TEST(LossInput, WaitsForAsManyStepsAsItIsToldTo) {
  auto input = given_to("cross_entropy", "Softmax", "probabilities");
  RuleHarness patient("LossInput", {{"num_steps", "5"}});
  EXPECT_EQ(fires_with(patient, input), -1);
  EXPECT_EQ(patient.finish().message,
            "nothing to judge: the losses were measured in 3 saved steps, "
            "num_steps=5 are needed");
  EXPECT_TRUE(patient.verdict().lacks_data);
  input.steps = 1;
  RuleHarness hasty("LossInput", {{"num_steps", "1"}});
  EXPECT_EQ(fires_with(hasty, input), 4);
}

// One loss of Keras and one of the script.
TEST(LossInput, NamesTheLossesOfWhichNothingIsKnown) {
  RunFacts facts = facts_with(cross_entropy(), 20);
  facts.losses.push_back({"other_loss", "own_loss", "", {}, {}});
  RuleHarness rule("LossInput");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_THAT(rule.finish().message,
              HasSubstr("not judged: what other_loss was given: not measured"));
}

TEST(LossInput, ReportsThatARunDoesNotHaveWhatItsLossesWereGiven) {
  RuleHarness rule("LossInput");
  RunFacts facts;
  facts.losses = {{"loss_output_0", "CustomLoss", "", {}, {}}};
  rule.knows(facts, "worker_0");
  EXPECT_FALSE(rule.fires_at(StepBuilder(2).with_scalar("Loss", 1)));
  EXPECT_THAT(rule.finish().message,
              HasSubstr("nothing to judge: what the losses were given is "
                        "unknown"));
  EXPECT_TRUE(rule.verdict().lacks_data);
}

}  // namespace
}  // namespace smdebug
