#include "smdebug/monitor/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recorded_run_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

class Judge : public testing::Test {
 protected:
  Judge() { record_run(folder_.path("run"), kVanishing); }

  TemporaryFolder folder_;
};

TEST_F(Judge, FindsTheStepInOneCall) {
  const auto result = judge(folder_.path("run"), {"VanishingGradient"});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->steps, 10u);
  ASSERT_EQ(result->verdicts.size(), 1u);
  EXPECT_EQ(result->verdicts[0].status, RuleStatus::issues_found);
  EXPECT_EQ(result->verdicts[0].step.global, 6);
}

TEST_F(Judge, JudgesAnOpenTrialBySeveralRulesWithParameters) {
  const auto trial = Trial::open(folder_.path("run"));
  ASSERT_TRUE(trial.ok());
  // The gradient of 1e-9 is not below a threshold of 1e-10.
  const auto result =
      judge(**trial, {{"VanishingGradient", {{"threshold", "1e-10"}}},
                      "ExplodingTensor",
                      std::string("vanishing_gradient")});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->verdicts.size(), 3u);
  EXPECT_EQ(result->verdicts[0].status, RuleStatus::no_issues_found);
  EXPECT_EQ(result->verdicts[1].status, RuleStatus::no_issues_found);
  EXPECT_EQ(result->verdicts[2].status, RuleStatus::issues_found);
}

TEST_F(Judge, UsesTheDefaultRulesWithoutAny) {
  const auto result = judge(folder_.path("run"));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->verdicts.size(), default_rules().size());
  const auto trial = Trial::open(folder_.path("run"));
  EXPECT_EQ(judge(**trial, {})->verdicts.size(), default_rules().size());
}

TEST_F(Judge, NamesARunThatDoesNotExistAndARuleThatIsUnknown) {
  const auto missing = judge(folder_.path("none"), {"ExplodingTensor"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Error::Code::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("none"));
  const auto unknown = judge(folder_.path("run"), {"ExplodingTensr"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("ExplodingTensor"));
}

}  // namespace
}  // namespace smdebug
