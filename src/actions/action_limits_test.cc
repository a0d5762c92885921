#include "smdebug/actions/action_limits.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

const ActionRequest kStop = {ActionKind::stop, ""};
const ActionRequest kMail = {ActionKind::email, "ann@example.com"};

Verdict finding(Severity severity) {
  Verdict verdict;
  verdict.status = RuleStatus::issues_found;
  verdict.severity = severity;
  return verdict;
}

TEST(ActionLimits, LetARuleThatTheUserNamedActOnAnyFinding) {
  for (const auto severity :
       {Severity::advice, Severity::serious, Severity::fatal}) {
    EXPECT_TRUE(ActionLimits().allow(kStop, finding(severity)));
    EXPECT_TRUE(ActionLimits().allow(kMail, finding(severity)));
  }
}

TEST(ActionLimits, NeverLetAdviceOfADefaultRuleStopATraining) {
  const ActionLimits limits = default_rule_limits();
  EXPECT_FALSE(limits.allow(kStop, finding(Severity::advice)));
  EXPECT_FALSE(limits.allow(kStop, finding(Severity::serious)));
  EXPECT_TRUE(limits.allow(kStop, finding(Severity::fatal)));
  EXPECT_FALSE(limits.allow(kMail, finding(Severity::advice)));
  EXPECT_TRUE(limits.allow(kMail, finding(Severity::serious)));
}

TEST(ActionLimits, StopForARuleThatTheUserAskedToStop) {
  Verdict verdict = finding(Severity::advice);
  verdict.stop_training = true;
  EXPECT_TRUE(default_rule_limits().allow(kStop, verdict));
}

}  // namespace
}  // namespace smdebug
