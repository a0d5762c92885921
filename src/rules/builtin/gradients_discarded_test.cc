#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

RunFacts facts_with_discards(std::optional<bool> discards_gradients) {
  RunFacts facts;
  facts.parameters = {{.tensor = "Net_fc.weight",
                       .dtype = "float32",
                       .device = "cpu",
                       .shape = {3},
                       .shared_with = "",
                       .updated_by = GroupPosition{0, 0}}};
  facts.optimizers = {{"SGD", {{1, 0, {}}}, false, discards_gradients}};
  return facts;
}

TEST(GradientsDiscarded, FindsAnOptimizerThatUsesTheLastBatchAlone) {
  RuleHarness rule("GradientsDiscarded");
  EXPECT_EQ(rule.fires_with(5, {facts_with_discards(true)}), 5);
  EXPECT_EQ(
      rule.verdict().message,
      "SGD, which updates Net_fc.weight: five updates in a row used "
      "only the gradients of the last backward pass, because those of the "
      "passes before it, two or more, were cleared, at step 5 (TRAIN "
      "step 5)");
  EXPECT_THAT(rule.verdict().cause,
              HasSubstr("calls zero_grad() for each of them"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  const Evidence& evidence = rule.verdict().evidence[0];
  EXPECT_EQ(evidence.tensor, "Net_fc.weight");
  EXPECT_EQ(evidence.quantity, "backward passes used by an update of SGD");
  EXPECT_EQ(evidence.value, 1);
  EXPECT_EQ(evidence.threshold, 3);
}

TEST(GradientsDiscarded, PassesOptimizersThatUseWhatTheyGet) {
  RuleHarness rule("GradientsDiscarded");
  EXPECT_EQ(rule.fires_with(5, {facts_with_discards(false)}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(GradientsDiscarded, ReportsThatNothingIsKnown) {
  RuleHarness rule("GradientsDiscarded");
  EXPECT_EQ(rule.fires_with(5, {facts_with_discards(std::nullopt)}), -1);
  EXPECT_THAT(rule.finish().message,
              HasSubstr("of 1 optimizer, none acted twice"));
}

}  // namespace
}  // namespace smdebug
