#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/rules/capture_request.h"

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TEST(CreateXgboostReport, NeverFiresAndCountsWhatItSaw) {
  RuleHarness rule("CreateXgboostReport");
  EXPECT_FALSE(rule.fires_at(StepBuilder(0)
                                 .with_scalar("train-rmse", 1)
                                 .with_scalar("feature_importance/gain/a", 1)
                                 .with_scalar("weight", 1)));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  EXPECT_EQ(rule.verdict().observations_judged, 2u);
}

TEST(CreateXgboostReport, JudgedNothingInARunOfSomethingElse) {
  RuleHarness rule("CreateXgboostReport");
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_scalar("weight", 1)));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("nothing to judge"));
}

TEST(CreateXgboostReport, AsksForValuesOfItsCollectionsEveryFifthRound) {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(*make_builtin_rule("create_xgboost_report", {}));
  const CaptureRequest request = capture_request(rules, "run");
  for (const char* name : {"metrics", "feature_importance", "hyperparameters",
                           "predictions", "labels"}) {
    const auto found = std::ranges::find(request.collections, name,
                                         &RequestedCollection::name);
    ASSERT_NE(found, request.collections.end()) << name;
    EXPECT_EQ(found->save_interval, 5) << name;
    EXPECT_FALSE(found->summary) << name;
  }
}

}  // namespace
}  // namespace smdebug
