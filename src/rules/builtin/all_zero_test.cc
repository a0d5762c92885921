
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TensorStatistics zeros(std::uint64_t zeros, std::uint64_t count) {
  TensorStatistics statistics;
  statistics.count = count;
  statistics.zeros = zeros;
  statistics.max = zeros < count ? 1 : 0;
  return statistics;
}

RuleHarness all_zero(std::map<std::string, std::string> given = {}) {
  given["tensor_regex"] = ".";
  return RuleHarness("AllZero", given);
}

TEST(AllZero, FiresIfEveryElementIsZeroAndNotIfOneIsNot) {
  RuleHarness rule = all_zero();
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_statistics("a", zeros(9, 10))));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(1).with_statistics("a", zeros(10, 10))));
}

TEST(AllZero, FiresAtExactlyItsThreshold) {
  RuleHarness rule = all_zero({{"threshold", "75"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_statistics("a", zeros(74, 100))));
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(1).with_statistics("a", zeros(75, 100))));
  EXPECT_EQ(rule.verdict().evidence.front().value, 75);
  EXPECT_EQ(rule.verdict().evidence.front().relation, ">=");
}

TEST(AllZero, SaysWhichTensorOfWhichLayerAndListsAllWorstFirst) {
  RuleHarness rule = all_zero({{"threshold", "50"}});
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(4)
                        .with_statistics("Net_fc1.weight", zeros(6, 10))
                        .with_statistics("Net_fc2.weight", zeros(8, 10))
                        .with_statistics("Net_fc3.weight", zeros(1, 10))));
  EXPECT_EQ(
      rule.verdict().message,
      "Net_fc2.weight: 80 % of the elements in layer Net_fc2 are zero "
      "(threshold: 50 %) at step 4 (TRAIN step 4); in the adjacent layers, "
      "Net_fc1.weight has 60 % zeros and Net_fc3.weight has 10 % zeros; this "
      "applies to 2 tensors of this step");
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[1].tensor, "Net_fc1.weight");
}

TEST(AllZero, CountsTheElementsWhereThereAreNoStatistics) {
  RuleHarness rule = all_zero({{"threshold", "50"}});
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0).with_values("a", {0, -0.0f, 1, 2}, {4})));
}

TEST(AllZero, SkipsEmptyTensorsAndNeverFindsThemInOrder) {
  RuleHarness rule = all_zero();
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_statistics("a", zeros(0, 0))
                                 .with_values("b", {}, {0, 3})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TEST(AllZero, TakesNoNanForAZero) {
  RuleHarness rule = all_zero();
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_values("a", {0, 0, kNan}, {3})));
}

TEST(AllZero, KnowsFromEachTellingReductionThatAllIsZero) {
  for (const ReductionOp op :
       {ReductionOp{Reduction::max, true}, ReductionOp{Reduction::l1},
        ReductionOp{Reduction::l2}, ReductionOp{Reduction::mean, true},
        ReductionOp{Reduction::sum, true}}) {
    RuleHarness rule = all_zero();
    EXPECT_FALSE(
        rule.fires_at(StepBuilder(0).with_reductions("a", {{op, 1e-9}})))
        << reduction_op_name(op);
    EXPECT_TRUE(rule.fires_at(StepBuilder(1).with_reductions("a", {{op, 0}})))
        << reduction_op_name(op);
  }
}

TEST(AllZero, KnowsFromBothBoundsThatAllIsZeroButNotFromOne) {
  RuleHarness rule = all_zero();
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_reductions(
      "a", {{{Reduction::min}, 0.0}, {{Reduction::max}, 2.0}})));
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(1).with_reductions("a", {{{Reduction::min}, 0.0}})));
  EXPECT_TRUE(rule.fires_at(StepBuilder(2).with_reductions(
      "a", {{{Reduction::min}, 0.0}, {{Reduction::max}, 0.0}})));
}

TEST(AllZero, SaysThatReductionsDoNotTellAPartOfTheElements) {
  RuleHarness rule = all_zero({{"threshold", "50"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_reductions("a", {{{Reduction::l1}, 3.0}})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("threshold=100"));
}

}  // namespace
}  // namespace smdebug
