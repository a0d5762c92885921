#include "rules/builtin/weights_at_start.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

constexpr const char* kRule = "PoorWeightInitialization";
const std::map<std::string, std::string> kTuned = {{"preset", "tuned"}};

// Hundred elements of that absolute value; of both signs unless `constant`.
TensorStatistics hundred(double absolute, bool constant = false) {
  TensorStatistics statistics;
  statistics.count = 100;
  statistics.zeros = absolute == 0 ? 100 : 0;
  statistics.min = constant ? absolute : -absolute;
  statistics.max = absolute;
  statistics.mean = constant ? absolute : 0;
  statistics.sum_abs = 100 * absolute;
  statistics.sum_squares = 100 * absolute * absolute;
  return statistics;
}

// A layer with 25 inputs and 4 outputs, whose scale is 5 times the weights.
struct Layer {
  double weight = 0.2;
  double gradient = 0.01;
  bool is_constant = false;
  bool is_frozen = false;
};

StepBuilder step_with(const std::vector<Layer>& layers, Step step,
                      double loss = 2.4) {
  StepBuilder built(step);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = "Net_fc" + std::to_string(i + 1) + ".weight";
    built.with_statistics(name,
                          hundred(layers[i].weight, layers[i].is_constant));
    built.of_shape({4, 25});
    if (layers[i].is_frozen) continue;
    built.with_statistics("gradient/" + name, hundred(layers[i].gradient));
  }
  built.with_scalar("Loss_output_0", loss);
  return built;
}

// A classifier of ten classes whose guess has a loss of 2.303.
RunFacts classifier(const std::vector<std::string>& kinds = {}) {
  RunFacts facts;
  facts.modules = {{"Net", "Net", true, {}}};
  for (std::size_t i = 0; i < 9; ++i) {
    const std::string kind = i < kinds.size() ? kinds[i] : "Linear";
    facts.modules.push_back({"fc" + std::to_string(i + 1), kind, true, {}});
  }
  LossInputFacts input;
  input.function = "cross_entropy";
  input.steps = 1;
  input.shape = {32, 10};
  facts.losses = {{"Loss_output_0", "CrossEntropyLoss", "mean", {}, input}};
  return facts;
}

// Whether the rule fires in a training that begins with these layers.
bool fires(RuleHarness& rule, const std::vector<Layer>& layers,
           const RunFacts* facts, double loss = 2.4) {
  if (facts) rule.knows(*facts, "worker_0");
  EXPECT_FALSE(rule.fires_at(step_with(layers, 0, loss)));
  for (Step step = 1; step < 8; ++step) {
    if (rule.fires_at(step_with({{}, {}, {}}, step, 2.4))) return true;
  }
  return rule.finish().status == RuleStatus::issues_found;
}

bool fires(const std::vector<Layer>& layers,
           const RunFacts& facts = classifier(), double loss = 2.4) {
  RuleHarness rule(kRule, kTuned);
  return fires(rule, layers, &facts, loss);
}

TEST(WeightsAtStart, PassUsualWeights) {
  RuleHarness rule(kRule, kTuned);
  const RunFacts facts = classifier();
  EXPECT_FALSE(fires(rule, {{}, {}, {}}, &facts));
  EXPECT_EQ(rule.verdict().status, RuleStatus::no_issues_found);
}

TEST(WeightsAtStart, NeedWeightsAndGradients) {
  RuleHarness rule(kRule, kTuned);
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_scalar("Loss", 1)));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("nothing to judge"));
}

// --- constant ---

TEST(WeightsAtStart, AreFoundIfTheyAreZeroAndPassNoGradientOn) {
  RuleHarness rule(kRule, kTuned);
  const RunFacts facts = classifier();
  EXPECT_TRUE(fires(rule, {{0, 0}, {0, 0}, {0, 0.1}}, &facts));
  EXPECT_EQ(rule.verdict().kind, "weights of 0");
  EXPECT_EQ(rule.verdict().message,
            "Net_fc1.weight: all weights of 3 of 3 layers are 0, at step 0 "
            "(TRAIN step 0)");
  ASSERT_EQ(rule.verdict().evidence.size(), 3u);
  EXPECT_EQ(rule.verdict().evidence[0].step.global, 0);
  EXPECT_EQ(rule.verdict().step.global, 1);
}

TEST(WeightsAtStart, PassALinearModelThatBeginsWithZeros) {
  EXPECT_FALSE(fires({{0, 0.1}}));
  EXPECT_FALSE(fires({{0, 0.1}, {0, 0.1}}));  // with two heads
}

// Fixup, and a head that begins with 0: no gradient passes in the first step.
TEST(WeightsAtStart, PassResidualBranchesThatBeginWithZeros) {
  EXPECT_FALSE(fires({{}, {0.2, 0}, {0, 0}, {0.2, 0}, {0, 0}, {0, 0.1}}));
}

// The second factor of LoRA begins with 0, and the model around is frozen.
TEST(WeightsAtStart, PassFactorsOfLora) {
  const Layer frozen = {.is_frozen = true};
  EXPECT_FALSE(fires({frozen, {0.2, 0}, {0, 0.1}, {0.2, 0}, {0, 0.1}}));
  const Layer frozen_zeros = {.weight = 0, .is_frozen = true};
  EXPECT_FALSE(fires({frozen_zeros, frozen_zeros, frozen_zeros, {}}));
}

TEST(WeightsAtStart, AreFoundIfTheyAreEqual) {
  RuleHarness rule(kRule, kTuned);
  const RunFacts facts = classifier();
  const Layer equal = {.weight = 0.1, .is_constant = true};
  EXPECT_TRUE(fires(rule, {equal, equal, equal, {}}, &facts));
  EXPECT_EQ(rule.verdict().kind, "weights that are all equal");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("all weights of the layer are 0.1, and those of 3 of 4 "
                        "layers are equal, at step 0"));
  EXPECT_FALSE(fires({equal, equal, {}, {}}));
}

// --- large ---

TEST(WeightsAtStart, AreFoundIfTheyAreLargeAndTheLossIs) {
  RuleHarness rule(kRule, kTuned);
  const RunFacts facts = classifier();
  EXPECT_TRUE(fires(rule, {{1, 3}, {2, 3}, {1, 3}}, &facts, 70));
  EXPECT_EQ(rule.verdict().kind, "weights that are too large");
  EXPECT_EQ(rule.verdict().message,
            "Net_fc2.weight: the weights have a root mean square of 2, which "
            "is 10 divided by the root of the 25 inputs of a unit; the median "
            "of 3 layers is 5, more than 4, and the loss begins at 70, where "
            "that of a model that knows nothing is 2.303, at step 0 (TRAIN "
            "step 0)");
  EXPECT_EQ(rule.verdict().evidence[0].value, 10);
  EXPECT_TRUE(fires({{1, 3}, {1, 3}}, classifier(), kInf));
}

TEST(WeightsAtStart, PassLargeOnesThatDoNotRaiseTheLoss) {
  EXPECT_FALSE(fires({{1, 3}, {2, 3}, {1, 3}}, classifier(), 4.6));
  // Tied to an embedding, so only the last layer is large.
  EXPECT_FALSE(fires({{}, {}, {2, 3}}, classifier(), 70));
  EXPECT_FALSE(fires({{2, 3}}, classifier(), 70));
}

TEST(WeightsAtStart, PassLargeOnesOfLayersThatScaleThem) {
  EXPECT_FALSE(fires({{2, 3}, {2, 3}, {2, 3}},
                     classifier({"EqualLinear", "EqualLinear", "EqualLinear"}),
                     70));
}

TEST(WeightsAtStart, MustBeLargerIfTheLossTellsNothing) {
  RunFacts facts = classifier();
  facts.losses.clear();
  EXPECT_FALSE(fires({{1.5, 3}, {1.5, 3}}, facts, 70));
  EXPECT_TRUE(fires({{1.7, 3}, {1.7, 3}}, facts, 70));
  facts.modules.push_back({"norm", "BatchNorm1d", true, {}});
  EXPECT_FALSE(fires({{1.7, 3}, {1.7, 3}}, facts, 70));
  EXPECT_TRUE(fires({{1.7, 3}, {1.7, 3}}, facts, kNan));
  RuleHarness without_facts(kRule, kTuned);
  EXPECT_FALSE(fires(without_facts, {{9, 3}, {9, 3}}, nullptr, 70));
}

TEST(WeightsAtStart, AreComparedWithTheTargetsOfARegression) {
  RunFacts facts = classifier();
  facts.losses[0].input->function = "mse_loss";
  facts.losses[0].input->targets = DataFacts();
  facts.losses[0].input->targets->mean = 3;
  facts.losses[0].input->targets->deviation = 1;
  EXPECT_TRUE(fires({{1, 3}, {1, 3}}, facts, 21));
  EXPECT_FALSE(fires({{1, 3}, {1, 3}}, facts, 19));
  // Half of the mean square, as MXNet has it, and an unknown multiple.
  facts.losses[0].reduction = "half_mean";
  EXPECT_TRUE(fires({{1, 3}, {1, 3}}, facts, 11));
  EXPECT_FALSE(fires({{1, 3}, {1, 3}}, facts, 9));
  facts.losses[0].reduction = "scaled_mean";
  EXPECT_FALSE(fires({{1, 3}, {1, 3}}, facts, 21));
}

// --- small ---

TEST(WeightsAtStart, AreFoundIfTheyAreSmallAndTheLossDoesNotDependOnThem) {
  RuleHarness rule(kRule, kTuned);
  const RunFacts facts = classifier();
  const Layer small = {.weight = 0.003, .gradient = 1e-4};
  EXPECT_TRUE(fires(rule, {small, small, small}, &facts));
  EXPECT_EQ(rule.verdict().kind, "weights that are too small");
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the median of 3 layers is 0.015, less than 0.02, and "
                        "the loss does not depend on the weights of most "
                        "layers yet, at step 0"));
  RuleHarness without_facts(kRule, kTuned);
  EXPECT_TRUE(fires(without_facts, {small, small, small}, nullptr));
}

TEST(WeightsAtStart, PassSmallOnes) {
  // A normalization makes up for the scale, so the gradients are large.
  const Layer normalized = {.weight = 0.003, .gradient = 0.1};
  EXPECT_FALSE(fires({normalized, normalized, normalized}));
  // Two layers leave the saddle at 0 soon.
  const Layer small = {.weight = 0.003, .gradient = 1e-4};
  EXPECT_FALSE(fires({small, small}));
  EXPECT_FALSE(fires({{}, {}, small}));
}

// --- when ---

TEST(WeightsAtStart, WaitForTheFactsAndJudgeTheFirstStep) {
  RuleHarness rule(kRule, kTuned);
  const std::vector<Layer> large = {{1, 3}, {1, 3}};
  EXPECT_FALSE(rule.fires_at(step_with(large, 0, 70)));
  EXPECT_FALSE(rule.fires_at(step_with({{}, {}}, 1)));
  RunFacts facts = classifier();
  facts.step = 1;
  rule.knows(facts, "worker_0");
  EXPECT_TRUE(rule.fires_at(step_with({{}, {}}, 2)));
  EXPECT_EQ(rule.verdict().evidence[0].step.global, 0);
}

TEST(WeightsAtStart, AreThoseOfATrainingStep) {
  RuleHarness rule(kRule, kTuned);
  StepBuilder evaluation({0, Mode::eval, 0});
  evaluation.with_statistics("Net_fc1.weight", hundred(0));
  rule.fires_at(evaluation);
  const RunFacts facts = classifier();
  rule.knows(facts, "worker_0");
  rule.fires_at(step_with({{0, 0}, {0, 0.1}}, 1));
  EXPECT_TRUE(rule.fires_at(step_with({{}, {}}, 2)));
  EXPECT_EQ(rule.verdict().evidence[0].step.global, 1);
}

// Notes that an optimizer acts in each step from `first` until before `end`.
void note_updates(RuleHarness& rule, Step first, Step end) {
  std::vector<ScalarSample> samples;
  for (Step step = first; step < end; ++step)
    samples.push_back({{step, Mode::train, step}, 0.1});
  rule.notes(std::vector<ScalarSeriesView>{{"learning_rate/Adam/0", samples}},
             "worker_0");
}

// As in reinforcement learning: the first episode calls the model several
// times, and the gradients that are saved first are later ones.
TEST(WeightsAtStart, AreNotThoseAfterAnUpdate) {
  for (const bool is_late : {false, true}) {
    RuleHarness rule(kRule, kTuned);
    const RunFacts facts = classifier();
    rule.knows(facts, "worker_0");
    note_updates(rule, 11, 12);
    if (!is_late) note_updates(rule, 12, 30);
    const std::vector<Layer> large = {{1, 3}, {1, 3}};
    EXPECT_FALSE(rule.fires_at(step_with(large, 20, 70)));
    EXPECT_FALSE(rule.fires_at(step_with(large, 21, 70)));
    if (is_late) note_updates(rule, 12, 30);
    EXPECT_FALSE(rule.fires_at(step_with(large, 22, 70)));
    EXPECT_THAT(rule.finish().message,
                HasSubstr("an optimizer had acted before the first step"));
  }
}

TEST(WeightsAtStart, MayBeThoseOfALaterStepThatIsTheFirstToUpdateThem) {
  RuleHarness rule(kRule, kTuned);
  const RunFacts facts = classifier();
  rule.knows(facts, "worker_0");
  note_updates(rule, 11, 30);
  rule.fires_at(step_with({{1, 3}, {1, 3}}, 11, 70));
  EXPECT_TRUE(rule.fires_at(step_with({{}, {}}, 12)));
}

TEST(WeightsAtStart, HaveLimits) {
  const RunFacts facts = classifier();
  auto given = kTuned;
  given["max_scale"] = "6";
  RuleHarness wide(kRule, given);
  EXPECT_FALSE(fires(wide, {{1, 3}, {1, 3}}, &facts, 70));
  given = kTuned;
  given["min_scale"] = "0.01";
  RuleHarness low(kRule, given);
  const Layer small = {.weight = 0.003, .gradient = 1e-4};
  EXPECT_FALSE(fires(low, {small, small, small}, &facts));
}

TEST(WeightsAtStart, AreNotJudgedByTheDocumentedRule) {
  RuleHarness rule(kRule);
  const RunFacts facts = classifier();
  rule.knows(facts, "worker_0");
  EXPECT_FALSE(rule.fires_at(step_with({{1, 3}, {1, 3}}, 0, 70)));
  EXPECT_FALSE(rule.fires_at(step_with({{}, {}}, 1)));
}

}  // namespace
}  // namespace smdebug
