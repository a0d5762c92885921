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
  EXPECT_EQ(
      monitor_results_text(runs),
      "run      rule                               status       step\n"
      "/runs/a  VanishingGradient (threshold=0.5)  IssuesFound    40  "
      "gradient/a: too small\n"
      "/runs/a  VanishingGradient                  IssuesFound    40  "
      "gradient/a: too small\n"
      "likely cause in /runs/a: VanishingGradient at step 40 (TRAIN step 30), "
      "in gradient/a, the first of 2 rules that fired\n");
  EXPECT_THAT(monitor_results_json(runs),
              AllOf(HasSubstr(R"("error": null)"),
                    HasSubstr(R"("error": "the disk said no")")));
}

}  // namespace
}  // namespace smdebug
