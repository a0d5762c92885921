#include "smdebug/monitor/monitor_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Verdict fired() {
  Verdict verdict;
  verdict.rule = "VanishingGradient";
  verdict.parameters = {{"threshold", "0.5"}};
  verdict.status = RuleStatus::issues_found;
  verdict.step = {40, Mode::train, 30};
  verdict.message = "gradient/a: too small";
  Evidence evidence;
  evidence.tensor = "gradient/a";
  verdict.evidence = {evidence};
  return verdict;
}

TEST(MonitorResults, ShowARowPerRunAndRule) {
  MonitorResult judged;
  judged.location = "/runs/a";
  judged.verdicts = {fired(), fired()};
  judged.verdicts[1].parameters.clear();
  MonitorResult broken;
  broken.location = "/runs/b";
  broken.error = Error{Error::Code::io, "the disk said no"};
  const MonitorResult runs[] = {judged, broken};
  EXPECT_EQ(monitor_results_text(runs),
            "run      rule                               status       step\n"
            "/runs/a  VanishingGradient (threshold=0.5)  IssuesFound    40  "
            "gradient/a: too small\n"
            "/runs/a  VanishingGradient                  IssuesFound    40  "
            "gradient/a: too small\n"
            "diagnosis of /runs/a\n"
            "  likely  VanishingGradient (threshold=0.5) at step 40; also: "
            "VanishingGradient at step 40\n");
  EXPECT_THAT(monitor_results_json(runs),
              AllOf(HasSubstr(R"("error": null)"),
                    HasSubstr(R"("confidence": "likely")"),
                    HasSubstr(R"("error": "the disk said no")")));
}

TEST(MonitorResults, TellTheCauseAndWhatToTryOfAdviceAlone) {
  MonitorResult judged;
  judged.location = "/runs/a";
  judged.verdicts = {fired()};
  judged.verdicts[0].severity = Severity::advice;
  judged.verdicts[0].cause = "a model that is too large";
  judged.verdicts[0].advice = "make it smaller";
  EXPECT_THAT(monitor_results_text({&judged, 1}),
              testing::EndsWith("advice about /runs/a: VanishingGradient\n"
                                "  cause  likely a model that is too large\n"
                                "  try    make it smaller\n"));
}

TEST(ExitCode, IsThatOfAFiringRuleForFatalAndSeriousFindings) {
  std::vector<Verdict> verdicts = {fired(), fired()};
  verdicts[1].status = RuleStatus::no_issues_found;
  for (const Severity severity : {Severity::fatal, Severity::serious}) {
    verdicts[0].severity = severity;
    EXPECT_EQ(exit_code(verdicts, false), kExitRuleFired);
  }
  verdicts[0].severity = Severity::advice;
  EXPECT_EQ(exit_code(verdicts, false), kExitNothingFound);
  verdicts.pop_back();
  EXPECT_EQ(exit_code(verdicts, false), kExitNothingFound) << "advice alone";
  EXPECT_EQ(exit_code(verdicts, true), kExitRuleFired) << "the user named it";
}

}  // namespace
}  // namespace smdebug
