#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Inputs of a scale that trains well.
DataFacts standardized() {
  DataFacts input;
  input.tensor = "Net_input_0";
  input.received_by = "Linear";
  input.dtype = "float32";
  input.steps = 10;
  input.shape = {32, 8};
  input.mean = 0.1;
  input.deviation = 1;
  input.median_feature_deviation = 0.9;
  input.largest_feature_deviation = 1.2;
  return input;
}

// Labels of all classes in each step.
DataFacts shuffled_labels() {
  DataFacts labels;
  labels.dtype = "int64";
  labels.steps = 10;
  labels.shape = {32};
  labels.labels = 320;
  labels.classes = 10;
  return labels;
}

LossInputFacts classification(const DataFacts& labels,
                              std::int64_t classes = 10) {
  LossInputFacts loss;
  loss.function = "cross_entropy";
  loss.steps = labels.steps;
  loss.shape = {32, classes};
  loss.targets = labels;
  return loss;
}

LossInputFacts regression(std::optional<double> mean,
                          std::optional<double> deviation) {
  LossInputFacts loss;
  loss.function = "mse_loss";
  loss.steps = 10;
  loss.shape = {32, 1};
  loss.targets.emplace();
  loss.targets->steps = 10;
  loss.targets->shape = {32, 1};
  loss.targets->mean = mean;
  loss.targets->deviation = deviation;
  return loss;
}

RunFacts facts_of_data(const DataFacts& input, const LossInputFacts& loss) {
  RunFacts facts;
  facts.step = 40;
  facts.inputs = {input};
  facts.losses = {{"loss_output_0", loss.function, "mean", {}, loss}};
  return facts;
}

// The labels of trees, which were counted once.
LossInputFacts labels_of_trees(std::uint64_t largest, std::uint64_t smallest) {
  LossInputFacts loss;
  loss.function = "binary:logistic";
  loss.shape = {400, 1};
  loss.targets.emplace();
  loss.targets->steps = 1;
  loss.targets->labels = largest + smallest;
  loss.targets->classes = 2;
  loss.targets->largest_class = largest;
  loss.targets->smallest_class = smallest;
  return loss;
}

// The verdict on a run of 60 steps, whose facts are known at step 40.
Verdict verdict_on(const DataFacts& input, const LossInputFacts& loss) {
  RuleHarness rule("LabelsAndInputs");
  for (Step step = 0; step < 60; step += 10) {
    if (step == 40) rule.knows(facts_of_data(input, loss), "worker_0");
    if (rule.fires_at(StepBuilder(step).with_scalar("Loss", 1)))
      return rule.verdict();
  }
  return rule.finish();
}

Verdict verdict_on_input(const DataFacts& input) {
  return verdict_on(input, classification(shuffled_labels()));
}

Verdict verdict_on_labels(const DataFacts& labels, std::int64_t classes = 10) {
  return verdict_on(standardized(), classification(labels, classes));
}

TEST(LabelsAndInputs, PassesShuffledLabelsAndScaledInputs) {
  const Verdict verdict = verdict_on_input(standardized());
  EXPECT_EQ(verdict.status, RuleStatus::no_issues_found) << verdict.message;
}

// The verdict on a run of ten steps in which `passes` passes over the data
// began, and so many of the inputs are those of the first step.
Verdict verdict_on_repeats(std::uint64_t repeats, std::uint64_t passes) {
  DataFacts input = standardized();
  input.repeats = repeats;
  RunFacts facts = facts_of_data(input, classification(shuffled_labels()));
  facts.loop.data_passes = passes;
  RuleHarness rule("LabelsAndInputs");
  rule.fires_with(10, {facts});
  return rule.finish();
}

TEST(LabelsAndInputs, FindsALoopThatTakesTheFirstBatchOfPassAfterPass) {
  const Verdict verdict = verdict_on_repeats(9, 10);
  EXPECT_EQ(verdict.message,
            "Net_input_0: the inputs are the same in 10 saved steps, and at "
            "least 10 passes over a data loader of several batches have begun");
  EXPECT_THAT(verdict.cause, HasSubstr("next(iter(loader))"));
  EXPECT_EQ(verdict.severity, Severity::serious);
}

TEST(LabelsAndInputs, PassesOneBatchThatIsMeantAndBatchesThatDiffer) {
  for (const auto& [repeats, passes] :
       {std::pair(9u, 0u), {9u, 9u}, {8u, 10u}, {0u, 100u}}) {
    const Verdict verdict = verdict_on_repeats(repeats, passes);
    EXPECT_EQ(verdict.status, RuleStatus::no_issues_found) << verdict.message;
  }
}

TEST(LabelsAndInputs, PassesAnInputThatIsTheSameBesideOthersThatDiffer) {
  DataFacts edges = standardized();
  edges.tensor = "Net_input_1";
  edges.repeats = 9;
  DataFacts tokens;
  tokens.tensor = "Net_input_0";
  tokens.dtype = "int64";
  tokens.steps = 10;
  for (const DataFacts& other : {standardized(), tokens}) {
    RunFacts facts = facts_of_data(edges, classification(shuffled_labels()));
    facts.inputs.insert(facts.inputs.begin(), other);
    facts.loop.data_passes = 10;
    RuleHarness rule("LabelsAndInputs");
    rule.fires_with(10, {facts});
    EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  }
}

TEST(LabelsAndInputs, FindsTheTargetsAmongTheFeatures) {
  for (LossInputFacts loss :
       {classification(shuffled_labels()), regression(0, 1)}) {
    loss.revealing_feature = 3;
    const Verdict verdict = verdict_on(standardized(), loss);
    EXPECT_THAT(verdict.message,
                HasSubstr("feature 3 of the model's input equals the targets, "
                          "but for a factor and an offset, in 10 saved steps"));
    EXPECT_THAT(verdict.cause, HasSubstr("a column with the target"));
    EXPECT_EQ(verdict.severity, Severity::serious);
  }
}

DataFacts images(double mean, double deviation, double low, double high) {
  DataFacts data;
  data.tensor = "Net_input_0";
  data.received_by = "Conv2d";
  data.dtype = "float32";
  data.steps = 10;
  data.shape = {32, 1, 28, 28};
  data.mean = mean;
  data.deviation = deviation;
  data.low = low;
  data.high = high;
  return data;
}

// The verdict on a run whose evaluation receives `evaluation`.
Verdict verdict_on_evaluation(const DataFacts& training, DataFacts evaluation) {
  RunFacts facts = facts_of_data(training, classification(shuffled_labels()));
  evaluation.steps = 1;
  facts.evaluation_inputs = {evaluation};
  RuleHarness rule("LabelsAndInputs");
  rule.knows(facts, "worker_0");
  for (Step step = 0; step < 60; step += 10) {
    if (rule.fires_at(StepBuilder(step).with_scalar("Loss", 1)))
      return rule.verdict();
  }
  return rule.finish();
}

TEST(LabelsAndInputs, FindsAnEvaluationWithoutTheNormalizationOfTheTraining) {
  const DataFacts pixels = images(0.1307, 0.3081, 0, 1);
  // Normalize((0.1307,), (0.3081,)) and Normalize((0.5,), (0.5,)).
  for (const DataFacts& normalized :
       {images(0, 1, -0.4242, 2.8215), images(-0.7386, 0.6162, -1, 1)}) {
    const Verdict verdict = verdict_on_evaluation(normalized, pixels);
    EXPECT_EQ(verdict.severity, Severity::serious) << verdict.message;
    EXPECT_EQ(verdict.kind, "evaluation inputs of another scale");
    EXPECT_EQ(verdict_on_evaluation(pixels, normalized).kind, verdict.kind);
    EXPECT_EQ(verdict_on_evaluation(normalized, normalized).status,
              RuleStatus::no_issues_found);
  }
  EXPECT_EQ(
      verdict_on_evaluation(images(0, 1, -0.4242, 2.8215), pixels).message,
      "Net_input_0: the inputs have the mean 0.1307 and the standard deviation "
      "0.3081 in the evaluation, and 0 and 1 in the training");
}

TEST(LabelsAndInputs, FindsAnEvaluationOfFeaturesThatAreNotStandardized) {
  DataFacts raw = standardized();
  raw.mean = 3.46;
  raw.deviation = 1.98;
  EXPECT_EQ(verdict_on_evaluation(standardized(), raw).kind,
            "evaluation inputs of another scale");
}

TEST(LabelsAndInputs, PassesAnEvaluationThatDiffersByChance) {
  // A noisier training, and a few large numbers in one of the features.
  EXPECT_EQ(
      verdict_on_evaluation(images(0, 1.9, -6, 6), images(0, 1, -1, 1)).status,
      RuleStatus::no_issues_found);
  DataFacts heavy = standardized();
  heavy.deviation = 4;
  heavy.median_feature_deviation = 1.1;
  DataFacts light = standardized();
  light.median_feature_deviation = 1;
  EXPECT_EQ(verdict_on_evaluation(light, heavy).status,
            RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, FindsInputsThatAreNotFinite) {
  DataFacts input = standardized();
  input.not_finite = 37;
  const Verdict verdict = verdict_on_input(input);
  EXPECT_EQ(verdict.severity, Severity::fatal);
  EXPECT_EQ(
      verdict.message,
      "Net_input_0: the inputs contain NaN or infinity at global step 37");
  EXPECT_THAT(verdict.cause, StartsWith("missing values"));
}

TEST(LabelsAndInputs, FindsThemEvenIfFewStepsWereMeasured) {
  DataFacts input = standardized();
  input.steps = 0;
  input.not_finite = 0;
  EXPECT_EQ(verdict_on_input(input).status, RuleStatus::issues_found);
}

// An empty buffer, and images that were divided by 255 until they were 0.
TEST(LabelsAndInputs, FindsInputsOfOneNumber) {
  DataFacts input = standardized();
  input.shape = {32, 3, 8, 8};
  input.mean = input.deviation = 0;
  input.median_feature_deviation = input.largest_feature_deviation = {};
  const Verdict verdict = verdict_on_input(input);
  EXPECT_EQ(verdict.severity, Severity::serious);
  EXPECT_EQ(verdict.message,
            "Net_input_0: every element of the inputs is 0, in 10 saved steps");
}

TEST(LabelsAndInputs, FindsTokensThatAreAllTheSame) {
  DataFacts tokens;
  tokens.tensor = "Net_input_0";
  tokens.dtype = "int64";
  tokens.steps = 10;
  tokens.shape = {32, 20};
  tokens.low = tokens.high = 3;
  EXPECT_EQ(verdict_on_input(tokens).message,
            "Net_input_0: every element of the inputs is 3, in 10 saved steps");
  tokens.low = 0;
  EXPECT_EQ(verdict_on_input(tokens).status, RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, FindsPlacesThatAreAllOfOneClass) {
  DataFacts places;
  places.dtype = "int64";
  places.steps = 10;
  places.shape = {32, 20};
  places.low = places.high = 3;
  const Verdict verdict = verdict_on_labels(places);
  EXPECT_EQ(verdict.severity, Severity::serious);
  EXPECT_THAT(verdict.message,
              HasSubstr("all targets of 10 saved steps are 3"));
  places.high = 4;
  EXPECT_EQ(verdict_on_labels(places).status, RuleStatus::no_issues_found);
}

// A mask of ones beside indices of words, and beside features.
TEST(LabelsAndInputs, FindsImagesWhoseChannelsAViewHasMixed) {
  DataFacts images = standardized();
  images.shape = {32, 3, 24, 24};
  images.has_mixed_channels = true;
  const Verdict verdict = verdict_on_input(images);
  EXPECT_EQ(verdict.message,
            "Net_input_0: the elements of the images (32, 3, 24, 24) have the "
            "order of (rows, columns, channels), in 10 saved steps: elements "
            "three apart are alike, and neighbors are not");
  EXPECT_THAT(verdict.advice, HasSubstr("x.permute(2, 0, 1)"));
  EXPECT_EQ(verdict.severity, Severity::serious);
  images.has_mixed_channels = false;
  EXPECT_EQ(verdict_on_input(images).status, RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, PassesAConstantInputBesideAnother) {
  DataFacts mask = standardized();
  mask.mean = 1;
  mask.deviation = 0;
  mask.median_feature_deviation = mask.largest_feature_deviation = {};
  DataFacts words = standardized();
  words.dtype = "int64";
  words.mean = words.deviation = {};
  words.low = 0;
  words.high = 99;
  words.median_feature_deviation = words.largest_feature_deviation = {};
  for (const DataFacts& other : {words, standardized()}) {
    RunFacts facts = facts_of_data(mask, classification(shuffled_labels()));
    facts.inputs.push_back(other);
    RuleHarness rule("LabelsAndInputs");
    EXPECT_EQ(rule.fires_with(10, {facts}), -1);
    EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  }
}

TEST(LabelsAndInputs, AdvisesOnClassesThatTreesTakeForAmounts) {
  RunFacts facts;
  facts.losses = {{"reg:squarederror", "reg:squarederror", "", {}, {}}};
  LossInputFacts input = labels_of_trees(150, 140);
  input.function = "reg:squarederror";
  DataFacts& targets = *input.targets;
  targets.labels = 1437;
  targets.classes = 10;
  targets.low = 0;
  targets.high = 9;
  const auto verdict_on_targets = [&] {
    facts.losses[0].input = input;
    RuleHarness rule("LabelsAndInputs");
    rule.fires_with(10, {facts});
    return rule.finish();
  };
  const Verdict verdict = verdict_on_targets();
  EXPECT_EQ(verdict.kind, "targets that look like classes under a regression");
  EXPECT_EQ(verdict.severity, Severity::advice);
  EXPECT_THAT(verdict.message,
              HasSubstr("all 1437 targets of a regression are whole numbers "
                        "from 0 to 9, each about as often"));
  targets.smallest_class = 20;  // ratings
  EXPECT_EQ(verdict_on_targets().status, RuleStatus::no_issues_found);
  targets.smallest_class = 140;
  targets.low = 1;
  EXPECT_EQ(verdict_on_targets().status, RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, JudgesTheLabelsOfTreesThoughTheyAreCountedOnce) {
  RunFacts facts;
  facts.losses = {{"binary:logistic", "binary:logistic", "", {}, {}}};
  for (const std::uint64_t smallest : {20, 60}) {
    facts.losses[0].input = labels_of_trees(360, smallest);
    RuleHarness rule("LabelsAndInputs");
    EXPECT_EQ(rule.fires_with(10, {facts}), -1);
    const bool is_rare = smallest < 36;
    EXPECT_EQ(rule.finish().status == RuleStatus::issues_found, is_rare);
    if (!is_rare) continue;
    EXPECT_EQ(rule.verdict().severity, Severity::advice);
    EXPECT_EQ(rule.verdict().message,
              "the labels of binary:logistic: of 380 labels in 1 saved step, "
              "the most frequent class has 360 and the least frequent of 2 has "
              "20");
  }
}

TEST(LabelsAndInputs, PassesARareClassThatTheLossWeighsMore) {
  RunFacts facts;
  facts.losses = {{"binary:logistic", "binary:logistic", "", {}, {}}};
  for (const double weight : {18.0, 0.05}) {
    facts.losses[0].input = labels_of_trees(360, 20);
    facts.losses[0].input->weight_of_largest_class = 1;
    facts.losses[0].input->weight_of_smallest_class = weight;
    RuleHarness rule("LabelsAndInputs");
    EXPECT_EQ(rule.fires_with(10, {facts}), -1);
    EXPECT_EQ(rule.finish().status == RuleStatus::issues_found, weight < 1);
  }
}

TEST(LabelsAndInputs, AdvisesOnARareClassAtTheEnd) {
  DataFacts labels = shuffled_labels();
  labels.largest_class = 240;
  labels.smallest_class = 5;
  const Verdict verdict = verdict_on_labels(labels);
  EXPECT_EQ(verdict.severity, Severity::advice);
  EXPECT_EQ(verdict.message,
            "the labels of loss_output_0: of 320 labels in 10 saved steps, the "
            "most frequent class has 240 and the least frequent of 10 has 5");
  EXPECT_EQ(verdict.kind, "a rare class");
}

// A tenth, up to chance; and the words of a language.
TEST(LabelsAndInputs, PassesClassesOfUnequalSizes) {
  DataFacts labels = shuffled_labels();
  labels.largest_class = 240;
  labels.smallest_class = 23;
  EXPECT_EQ(verdict_on_labels(labels).status, RuleStatus::no_issues_found);
  labels.smallest_class = 1;
  labels.classes = 65;
  EXPECT_EQ(verdict_on_labels(labels, 65).status, RuleStatus::no_issues_found);
}

// The next characters of 8 texts of 64 characters.
TEST(LabelsAndInputs, PassesRareClassesOfSequences) {
  DataFacts labels = shuffled_labels();
  labels.shape = {8, 64};
  labels.labels = 5120;
  labels.largest_class = 2400;
  labels.smallest_class = 5;
  DataFacts text = standardized();
  text.shape = {8, 64};
  text.dtype = "int64";
  text.received_by = "Embedding";
  LossInputFacts loss = classification(labels);
  for (const auto& shape : {std::vector<std::int64_t>{512, 10},
                            std::vector<std::int64_t>{8, 10, 64}}) {
    loss.shape = shape;
    EXPECT_EQ(verdict_on(text, loss).status, RuleStatus::no_issues_found);
  }
  loss.shape = {8, 10};
  EXPECT_EQ(verdict_on(text, loss).kind, "a rare class");
}

TEST(LabelsAndInputs, FindsTargetsThatAreNotFinite) {
  LossInputFacts loss = regression({}, {});
  loss.targets->not_finite = 3;
  const Verdict verdict = verdict_on(standardized(), loss);
  EXPECT_EQ(verdict.severity, Severity::fatal);
  EXPECT_THAT(verdict.message,
              StartsWith("loss_output_0: the targets contain NaN"));
}

TEST(LabelsAndInputs, FindsLabelsThatAreSorted) {
  DataFacts labels = shuffled_labels();
  labels.label_order = 0.4;
  const Verdict verdict = verdict_on_labels(labels);
  EXPECT_EQ(verdict.severity, Severity::serious);
  EXPECT_THAT(verdict.message,
              HasSubstr("40 % of the diversity of 320 labels lies between 10 "
                        "saved steps"));
}

// A class may look rare only because the classes after it were not seen yet.
TEST(LabelsAndInputs, FindsNoRareClassInLabelsThatAreSorted) {
  DataFacts labels = shuffled_labels();
  labels.largest_class = 280;
  labels.smallest_class = 2;
  EXPECT_EQ(verdict_on_labels(labels).severity, Severity::advice);
  labels.label_order = 0.9;
  EXPECT_EQ(verdict_on_labels(labels).severity, Severity::serious);
}

TEST(LabelsAndInputs, PassesAFewBatchesOfOneClass) {
  DataFacts labels = shuffled_labels();
  labels.label_order = 0.39;
  EXPECT_EQ(verdict_on_labels(labels).status, RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, FindsLabelsOfOneClass) {
  DataFacts labels = shuffled_labels();
  labels.classes = 1;
  const Verdict verdict = verdict_on_labels(labels);
  EXPECT_EQ(verdict.severity, Severity::serious);
  EXPECT_THAT(verdict.message,
              HasSubstr("all 320 labels of 10 saved steps are of one class of "
                        "10"));
  EXPECT_EQ(verdict_on_labels(labels, 2).severity, Severity::advice);
  // One output tells two classes apart.
  EXPECT_THAT(verdict_on_labels(labels, 1).message,
              HasSubstr("of one class of 2"));
  labels.labels = 99;
  EXPECT_EQ(verdict_on_labels(labels).status, RuleStatus::no_issues_found);
}

// The targets of a binary cross entropy, which are all `low` to `high`.
LossInputFacts probabilities(double low, double high) {
  LossInputFacts loss = regression((low + high) / 2, (high - low) / 2);
  loss.function = "binary_cross_entropy_with_logits";
  loss.targets->low = low;
  loss.targets->high = high;
  return loss;
}

TEST(LabelsAndInputs, AdvisesOnBinaryTargetsThatAreAllTheSame) {
  for (const double value : {0.0, 1.0}) {
    const Verdict verdict =
        verdict_on(standardized(), probabilities(value, value));
    EXPECT_EQ(verdict.severity, Severity::advice);
    EXPECT_THAT(verdict.message,
                HasSubstr(fmt::format("all targets of 10 saved steps are {:g}",
                                      value)));
  }
  EXPECT_EQ(verdict_on(standardized(), probabilities(0, 1)).status,
            RuleStatus::no_issues_found);
  LossInputFacts few = probabilities(0, 0);
  few.targets->shape = {9, 1};
  EXPECT_EQ(verdict_on(standardized(), few).status,
            RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, PassesTheTargetsOfAdversaries) {
  RunFacts two_losses = facts_of_data(standardized(), probabilities(1, 1));
  two_losses.losses.push_back(two_losses.losses[0]);
  RunFacts two_optimizers = facts_of_data(standardized(), probabilities(1, 1));
  two_optimizers.optimizers.resize(2);
  for (const RunFacts& facts : {two_losses, two_optimizers}) {
    RuleHarness rule("LabelsAndInputs");
    rule.knows(facts, "worker_0");
    for (Step step = 0; step < 60; step += 10)
      EXPECT_FALSE(rule.fires_at(StepBuilder(step).with_scalar("Loss", 1)));
    EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  }
}

TEST(LabelsAndInputs, AdvisesOnFeaturesOfDifferentScales) {
  DataFacts input = standardized();
  input.largest_feature_deviation = 350;
  input.deviation = 9;
  const Verdict verdict = verdict_on_input(input);
  EXPECT_EQ(verdict.severity, Severity::advice);
  EXPECT_THAT(verdict.message,
              HasSubstr("the standard deviation of a feature is 350, and the "
                        "median over all features is 0.9"));
  for (const char* layer :
       {"BatchNorm1d", "Normalization", "Embedding", "Rescaling", "Lambda",
        "TFOpLambda", "TrueDivide"}) {
    input.received_by = layer;
    EXPECT_EQ(verdict_on_input(input).status, RuleStatus::no_issues_found)
        << layer << " may scale the inputs";
  }
}

TEST(LabelsAndInputs, AdvisesOnLargeInputs) {
  DataFacts input = standardized();
  input.mean = 127;
  input.deviation = 60;
  const Verdict verdict = verdict_on_input(input);
  EXPECT_EQ(verdict.severity, Severity::advice);
  EXPECT_THAT(verdict.message,
              HasSubstr("the inputs have the mean 127 and the standard "
                        "deviation 60, in 10 saved steps"));
  // CheckInputImages judges images.
  input.shape = {32, 3, 8, 8};
  EXPECT_EQ(verdict_on_input(input).status, RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, AdvisesOnImagesThatWereDividedBy255Twice) {
  DataFacts input = images(0.001, 0.001, 0, 1.0 / 255);
  input.received_by = "Conv2d";
  const Verdict verdict = verdict_on_input(input);
  EXPECT_EQ(verdict.kind, "tiny inputs");
  EXPECT_EQ(verdict.severity, Severity::advice);
  input.received_by = "BatchNorm2d";
  EXPECT_EQ(verdict_on_input(input).status, RuleStatus::no_issues_found);
  EXPECT_EQ(verdict_on_input(images(0.1, 0.1, 0, 0.3)).status,
            RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, AdvisesOnLargeTargetsOfARegression) {
  const Verdict verdict = verdict_on(standardized(), regression(-3, 5000));
  EXPECT_EQ(verdict.severity, Severity::advice);
  EXPECT_THAT(verdict.message,
              HasSubstr("the targets have the mean -3 and the standard "
                        "deviation 5000"));
  EXPECT_EQ(verdict_on(standardized(), regression(-3, 5)).status,
            RuleStatus::no_issues_found);
}

TEST(LabelsAndInputs, ReportsNaNEvenAfterAdvice) {
  DataFacts input = standardized();
  input.deviation = 60;
  RuleHarness rule("LabelsAndInputs");
  const LossInputFacts loss = classification(shuffled_labels());
  rule.knows(facts_of_data(input, loss), "worker_0");
  EXPECT_FALSE(rule.fires_at(StepBuilder(50).with_scalar("Loss", 1)));
  RunFacts later = facts_of_data(input, loss);
  later.step = 60;
  later.inputs[0].not_finite = 60;
  rule.knows(later, "worker_0");
  EXPECT_TRUE(rule.fires_at(StepBuilder(70).with_scalar("Loss", 1)));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(LabelsAndInputs, ExplainsThatNothingIsKnown) {
  RuleHarness rule("LabelsAndInputs");
  rule.fires_at(StepBuilder(0).with_scalar("Loss", 1));
  EXPECT_THAT(rule.finish().message, HasSubstr("the data of the training are "
                                               "unknown"));
}

// A loss of the script beside inputs that were measured.
TEST(LabelsAndInputs, NamesTheTargetsThatWereNotMeasured) {
  LossInputFacts loss = classification(shuffled_labels());
  loss.targets.reset();
  const Verdict verdict = verdict_on(standardized(), loss);
  EXPECT_EQ(verdict.status, RuleStatus::no_issues_found);
  EXPECT_THAT(verdict.message, HasSubstr("not judged: the targets of "
                                         "loss_output_0: not measured"));
}

TEST(LabelsAndInputs, NamesTheInputsThatWereNotMeasured) {
  RunFacts facts =
      facts_of_data(standardized(), classification(shuffled_labels()));
  facts.inputs.clear();
  RuleHarness rule("LabelsAndInputs");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_THAT(rule.finish().message,
              HasSubstr("not judged: the inputs: not measured"));
  for (const char* name : {"inputs_0", "inputs_1", "inputs_2", "inputs_3"}) {
    facts.inputs.emplace_back().tensor = name;
  }
  RuleHarness other("LabelsAndInputs");
  EXPECT_EQ(other.fires_with(10, {facts}), -1);
  EXPECT_THAT(other.finish().message,
              HasSubstr("not judged: inputs_0, inputs_1, inputs_2, and 1 more: "
                        "not measured"));
}

TEST(LabelsAndInputs, JudgesNothingIfNoDataHaveNumbers) {
  DataFacts words = standardized();
  words.dtype = "int64";
  words.mean = words.deviation = {};
  words.median_feature_deviation = words.largest_feature_deviation = {};
  LossInputFacts loss = classification(shuffled_labels());
  loss.targets.reset();
  const Verdict verdict = verdict_on(words, loss);
  EXPECT_EQ(verdict.status, RuleStatus::error);
  EXPECT_TRUE(verdict.lacks_data);
  EXPECT_THAT(verdict.message,
              HasSubstr("(the targets of loss_output_0: not measured)"));
}

// The layers of a model that calls them itself may scale the inputs.
TEST(LabelsAndInputs, JudgesNoScaleWithoutTheFirstLayer) {
  DataFacts input = standardized();
  input.received_by = "";
  input.mean = 500;
  input.largest_feature_deviation = 500;
  const Verdict verdict = verdict_on_input(input);
  EXPECT_EQ(verdict.status, RuleStatus::no_issues_found);
  EXPECT_THAT(verdict.message, HasSubstr("not judged: Net_input_0: its scale"));
  input.not_finite = 3;
  EXPECT_EQ(verdict_on_input(input).status, RuleStatus::issues_found);
}

TEST(LabelsAndInputs, NamesNothingWhereAllWasJudged) {
  EXPECT_THAT(verdict_on_input(standardized()).message,
              ::testing::Not(HasSubstr("not judged")));
}

TEST(LabelsAndInputs, ExplainsThatFewStepsWereMeasured) {
  DataFacts input = standardized();
  input.steps = 5;
  DataFacts labels = shuffled_labels();
  labels.steps = 5;
  const Verdict verdict = verdict_on(input, classification(labels));
  EXPECT_EQ(verdict.status, RuleStatus::error);
  EXPECT_THAT(verdict.message,
              HasSubstr("the data were measured in 5 saved steps, num_steps=10 "
                        "are needed"));
}

}  // namespace
}  // namespace smdebug
