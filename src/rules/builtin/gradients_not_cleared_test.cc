#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

// A model with `parameters` parameters for each optimizer, and what is known of
// the gradients of the optimizers.
RunFacts facts_of(const std::vector<std::optional<bool>>& keeps_gradients,
                  Step step = 0, std::size_t parameters = 2) {
  RunFacts facts;
  facts.step = step;
  for (std::size_t i = 0; i < keeps_gradients.size(); ++i) {
    for (std::size_t j = 0; j < parameters; ++j) {
      ParameterFacts& parameter = facts.parameters.emplace_back();
      parameter.tensor =
          "Net_" + std::to_string(i) + ".weight_" + std::to_string(j);
      parameter.updated_by = GroupPosition{i, 0};
    }
    facts.optimizers.push_back(
        {i == 0 ? "SGD" : "Adam", {{parameters, 0, {}}}, keeps_gradients[i]});
  }
  return facts;
}

TEST(GradientsNotCleared, FindsAnOptimizerThatKeepsItsGradients) {
  RuleHarness rule("GradientsNotCleared");
  EXPECT_EQ(rule.fires_with(5, {facts_of({std::nullopt}), facts_of({true}, 5)}),
            10);
  EXPECT_EQ(
      rule.verdict().message,
      "SGD, which updates Net_0.weight_0 and one other: five updates in a "
      "row used the sum of the gradients of all batches, because nothing "
      "cleared them, at step 10 (TRAIN step 10)");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("never calls zero_grad()"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "Net_0.weight_0");
}

TEST(GradientsNotCleared, NamesTheOneOfSeveralOptimizers) {
  RuleHarness rule("GradientsNotCleared");
  EXPECT_EQ(rule.fires_with(5, {facts_of({false, true}, 0, 5)}), 5);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("Adam, which updates Net_1.weight_0 and 4 others: "));
  EXPECT_EQ(rule.verdict().evidence.size(), 1u);
}

TEST(GradientsNotCleared, ListsAllOptimizersThatKeepTheirGradients) {
  RuleHarness rule("GradientsNotCleared");
  EXPECT_EQ(rule.fires_with(5, {facts_of({true, true}, 0, 1)}), 5);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("SGD, which updates Net_0.weight_0: "));
  EXPECT_EQ(rule.verdict().evidence.size(), 2u);
}

TEST(GradientsNotCleared, FindsItOnASecondWorker) {
  RuleHarness rule("GradientsNotCleared");
  rule.knows(facts_of({false}), "worker_0");
  EXPECT_EQ(rule.fires_with(5, {facts_of({true})}, "worker_1"), 5);
  EXPECT_THAT(rule.verdict().message, HasSubstr("SGD (worker_1), which"));
}

// An update between saved steps, after the last of which the training ends.
TEST(GradientsNotCleared, FindsItAtTheEndOfTheRun) {
  RuleHarness rule("GradientsNotCleared");
  rule.fires_at(StepBuilder(0).with_scalar("Loss", 1));
  rule.knows(facts_of({true}, 6), "worker_0");
  EXPECT_EQ(rule.finish().status, RuleStatus::issues_found);
}

TEST(GradientsNotCleared, PassesOptimizersWhoseGradientsAreCleared) {
  RuleHarness rule("GradientsNotCleared");
  EXPECT_EQ(rule.fires_with(5, {facts_of({false, false})}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(GradientsNotCleared, NamesAnOptimizerThatItCouldNotJudge) {
  RuleHarness rule("GradientsNotCleared");
  EXPECT_EQ(rule.fires_with(5, {facts_of({false, std::nullopt})}), -1);
  EXPECT_THAT(
      rule.finish().message,
      HasSubstr(
          "Adam: the hook did not see that it acted six times, or twice"));
}

TEST(GradientsNotCleared, ReportsThatNothingIsKnown) {
  RuleHarness unknown("GradientsNotCleared");
  EXPECT_EQ(unknown.fires_with(5, {facts_of({std::nullopt})}), -1);
  EXPECT_THAT(unknown.finish().message,
              HasSubstr("of 1 optimizer, none acted six times, or twice"));
  RuleHarness other("GradientsNotCleared");
  EXPECT_EQ(other.fires_with(5, {}), -1);
  EXPECT_THAT(other.finish().message, HasSubstr("no facts of optimizers"));
}

}  // namespace
}  // namespace smdebug
