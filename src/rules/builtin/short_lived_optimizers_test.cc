#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

RunFacts facts_with(std::optional<std::uint64_t> short_lived_optimizers,
                    Step step = 0) {
  RunFacts facts;
  facts.step = step;
  facts.optimizers = {{"Adam", {}}};
  facts.loop.short_lived_optimizers = short_lived_optimizers;
  return facts;
}

TEST(ShortLivedOptimizers, FindsAnOptimizerThatIsMadeForEachUpdate) {
  RuleHarness rule("ShortLivedOptimizers");
  EXPECT_EQ(rule.fires_with(10, {facts_with(3), facts_with(10, 10)}), 20);
  EXPECT_EQ(rule.verdict().message,
            "Adam: 10 optimizers updated the same parameters at most twice "
            "each, one after the other, until step 20 (TRAIN step 20)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("before the loop"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].value, 10);
}

TEST(ShortLivedOptimizers, PassesTheOptimizersOfAFewPhases) {
  RuleHarness rule("ShortLivedOptimizers");
  EXPECT_EQ(rule.fires_with(10, {facts_with(0), facts_with(9, 10)}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(ShortLivedOptimizers, FiresFromTheGivenNumberOn) {
  RuleHarness rule("ShortLivedOptimizers", {{"num_optimizers", "3"}});
  EXPECT_EQ(rule.fires_with(10, {facts_with(3)}), 10);
}

TEST(ShortLivedOptimizers, NeedsACount) {
  RuleHarness rule("ShortLivedOptimizers");
  EXPECT_EQ(rule.fires_with(10, {facts_with(std::nullopt)}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("for PyTorch"));
}

}  // namespace
}  // namespace smdebug
