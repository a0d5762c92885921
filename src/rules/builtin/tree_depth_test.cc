#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

constexpr const char* kNodes = "trees/Node";

// Whether a tree fires the rule whose nodes are 0 to `largest`.
bool fires(double largest, const std::string& depth) {
  RuleHarness rule("TreeDepth", {{"depth", depth}});
  return rule.fires_at(StepBuilder(0).with_scalar(kNodes, largest));
}

TEST(TreeDepth, CountsTheLevelsOfATreeByItsLargestNode) {
  // A full tree of depth d has the nodes 0 to 2^(d + 1) - 2.
  for (int depth = 0; depth < 20; ++depth) {
    const double full = double((1 << (depth + 1)) - 2);
    EXPECT_FALSE(fires(full, std::to_string(depth))) << depth;
    EXPECT_TRUE(fires(full + 1, std::to_string(depth))) << depth;
  }
}

TEST(TreeDepth, TakesAFullTreeOfThirtyOneNodesForDepthFour) {
  EXPECT_FALSE(fires(30, "4"));
  EXPECT_TRUE(fires(30, "3.9"));
  EXPECT_TRUE(fires(31, "4"));
}

TEST(TreeDepth, SaysHowDeepAndHowDeepBefore) {
  RuleHarness rule("TreeDepth");
  EXPECT_FALSE(rule.fires_at(StepBuilder({0, Mode::global, 0})
                                 .with_values(kNodes, {0, 1, 2, 7}, {4})));
  EXPECT_TRUE(rule.fires_at(
      StepBuilder({9, Mode::global, 9}).with_values(kNodes, {0, 63}, {2})));
  EXPECT_EQ(rule.verdict().message,
            "trees/Node: a tree is 6 levels deep at step 9 (its largest node "
            "is 63), more than 4; the deepest before had 3");
  EXPECT_EQ(rule.verdict().evidence[0].value, 6);
  EXPECT_EQ(rule.verdict().evidence[0].threshold, 4);
}

TEST(TreeDepth, WorksFromASavedReductionAlone) {
  RuleHarness rule("TreeDepth");
  EXPECT_TRUE(rule.fires_at(StepBuilder(0).with_reductions(
      kNodes, {{{Reduction::max, false}, 40.0}})));
}

TEST(TreeDepth, ListsTheDeepestTreeFirst) {
  RuleHarness rule("TreeDepth");
  EXPECT_TRUE(rule.fires_at(StepBuilder(0)
                                .with_scalar(kNodes, 40)
                                .with_scalar(kNodes, 100)
                                .from_worker("worker_1")));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].worker, "worker_1");
  EXPECT_THAT(rule.verdict().message, HasSubstr("trees/Node (worker_1)"));
}

TEST(TreeDepth, PassesOverWhatNumbersNoNode) {
  RuleHarness rule("TreeDepth");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double node : {nan, -1.0, 1e300}) {
    EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_scalar(kNodes, node)));
  }
  EXPECT_FALSE(rule.fires_at(StepBuilder(1).with_values(kNodes, {}, {0})));
  EXPECT_FALSE(rule.fires_at(StepBuilder(2).with_scalar("trees/Yes", 99)));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TEST(TreeDepth, LetsXgboostsOwnDepthPassWhenTuned) {
  RuleHarness rule("TreeDepth", {{"preset", "tuned"}});
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_scalar(kNodes, 126)));
  EXPECT_TRUE(rule.fires_at(StepBuilder(1).with_scalar(kNodes, 127)));
}

}  // namespace
}  // namespace smdebug
