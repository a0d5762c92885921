#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

ModuleFacts layer(std::string path, bool is_batch_first, Shape shape) {
  return {std::move(path),
          "LSTM",
          true,
          {{"batch_first", is_batch_first}},
          std::move(shape)};
}

// Layers of a model whose loss has targets of this shape.
RunFacts facts_of(std::vector<ModuleFacts> layers, Shape targets) {
  RunFacts facts;
  facts.modules = std::move(layers);
  LossInputFacts input;
  input.function = "cross_entropy";
  input.steps = 3;
  input.targets.emplace();
  input.targets->shape = std::move(targets);
  facts.losses = {{"Loss_output_0", "CrossEntropyLoss", "mean", {}, input}};
  return facts;
}

Verdict verdict_on(const RunFacts& facts) {
  RuleHarness rule("MixedSamples");
  if (rule.fires_with(10, {facts}) >= 0) return rule.verdict();
  return rule.finish();
}

TEST(MixedSamples, FindsSamplesInTheDimensionOfTheSteps) {
  RuleHarness rule("MixedSamples");
  EXPECT_EQ(rule.fires_with(10, {facts_of({layer("lstm", false, {32, 20, 8}),
                                           layer("top", false, {32, 20, 16})},
                                          {32})}),
            10);
  EXPECT_EQ(
      rule.verdict().message,
      "lstm: LSTM with batch_first=False gets an input of shape (32, 20, "
      "8), and the loss has targets for 32 samples, so it takes the 32 "
      "samples for steps, as does 1 further layer, at step 10 (TRAIN step 10)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("batch_first=True"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(MixedSamples, FindsStepsInTheDimensionOfTheSamples) {
  for (const Shape& targets : {Shape{32}, Shape{32, 1}}) {
    const Verdict verdict =
        verdict_on(facts_of({layer("lstm", true, {20, 32, 8})}, targets));
    EXPECT_EQ(verdict.status, RuleStatus::issues_found);
    EXPECT_THAT(verdict.advice, HasSubstr("batch_first=False"));
  }
}

TEST(MixedSamples, KnowsTheRightDimensionOfTheSamples) {
  for (const ModuleFacts& right :
       {layer("lstm", true, {32, 20, 8}), layer("lstm", false, {20, 32, 8}),
        layer("lstm", false, {32, 32, 8}),
        // Attention between samples, and layers that get some of the samples.
        layer("rows", true, {1, 32, 8}), layer("part", false, {16, 20, 8})}) {
    EXPECT_EQ(verdict_on(facts_of({right}, {32})).status,
              RuleStatus::no_issues_found);
  }
}

TEST(MixedSamples, DoesNotJudgeTargetsThatMayHaveTheStepsFirst) {
  for (const Shape& targets : {Shape{32, 20}, Shape{}, Shape{640, 2}}) {
    EXPECT_THAT(
        verdict_on(facts_of({layer("lstm", false, {32, 20, 8})}, targets))
            .message,
        HasSubstr("the losses do not show the number of samples"));
  }
  RunFacts two = facts_of({layer("lstm", false, {32, 20, 8})}, {32});
  two.losses.push_back(two.losses[0]);
  two.losses[1].input->targets->shape = {64};
  EXPECT_EQ(verdict_on(two).status, RuleStatus::error);
}

TEST(MixedSamples, SaysThatItKnowsNoSuchLayer) {
  for (const RunFacts& facts :
       {facts_of({}, {32}), facts_of({layer("lstm", false, {})}, {32})}) {
    EXPECT_THAT(verdict_on(facts).message,
                HasSubstr("no shapes of inputs of recurrent or attention"));
  }
}

}  // namespace
}  // namespace smdebug
