#include "smdebug/report/verdict_text.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::HasSubstr;

Verdict fired() {
  Verdict verdict;
  verdict.rule = "VanishingGradient";
  verdict.parameters = {{"threshold", "0.5"}};
  verdict.status = RuleStatus::issues_found;
  verdict.severity = Severity::fatal;
  verdict.step = {40, Mode::train, 30};
  verdict.message = "gradient/a: too small";
  verdict.cause = "saturation";
  verdict.advice = "use ReLU";
  verdict.steps_judged = 5;
  verdict.observations_found = 12;
  verdict.observations_judged = 10;
  verdict.evidence.push_back({"gradient/a",
                              "worker_0",
                              {40, Mode::train, 30},
                              "mean |g|",
                              0.25,
                              "<",
                              0.5});
  verdict.evidence[0].before = AdjacentLayer{"gradient/b", 0.75};
  return verdict;
}

TEST(VerdictText, ShowsSentenceEvidenceCauseAndAdvice) {
  EXPECT_EQ(
      verdict_text(fired()),
      "VanishingGradient: IssuesFound\n"
      "  gradient/a: too small\n"
      "    tensor      worker             step  what      value     "
      "threshold\n"
      "    gradient/a  worker_0  40 (TRAIN 30)  mean |g|   0.25  <        "
      "0.5\n"
      "  usual cause: saturation\n"
      "  advice: use ReLU\n");
}

TEST(VerdictText, ShowsOnlySomeOfALotOfEvidence) {
  Verdict verdict = fired();
  verdict.evidence.resize(20, verdict.evidence.front());
  EXPECT_THAT(verdict_text(verdict), HasSubstr("and 12 more"));
}

TEST(VerdictText, NamesTheParametersWhereOneRuleIsAskedTwice) {
  Verdict other = fired();
  other.parameters = {{"preset", "tuned"}, {"threshold", "1"}};
  const Verdict both[] = {fired(), other};
  EXPECT_EQ(rule_title(both[1], both),
            "VanishingGradient (preset=tuned, threshold=1)");
  EXPECT_EQ(rule_title(both[1], std::span(&both[1], 1)), "VanishingGradient");
  EXPECT_THAT(verdicts_text(both),
              HasSubstr("VanishingGradient (threshold=0.5)  "));
}

TEST(VerdictText, IsJsonOfAFixedShape) {
  EXPECT_EQ(
      verdict_json(fired()),
      R"({"rule":"VanishingGradient","parameters":{"threshold":"0.5"},)"
      R"("status":"IssuesFound","severity":"fatal","kind":null,)"
      R"("step":{"global":40,"mode":"TRAIN","mode_step":30},)"
      R"("message":"gradient/a: too small","cause":"saturation",)"
      R"("advice":"use ReLU","note":null,)"
      R"("evidence":[{"tensor":"gradient/a","layer":"gradient/a","worker":"worker_0",)"
      R"("step":{"global":40,"mode":"TRAIN","mode_step":30},)"
      R"("quantity":"mean |g|","value":0.25,"relation":"<","threshold":0.5,)"
      R"("before":{"tensor":"gradient/b","layer":"gradient/b","value":0.75},)"
      R"("after":null}],)"
      R"("steps_judged":5,"observations_found":12,"observations_judged":10})");
}

TEST(VerdictText, HasNoSeverityWithoutAFinding) {
  EXPECT_THAT(verdict_json(Verdict()), HasSubstr(R"("severity":null)"));
}

TEST(VerdictText, SpellsWhatJsonCannotHoldAsNull) {
  Verdict verdict = fired();
  verdict.evidence[0].value = std::numeric_limits<double>::quiet_NaN();
  verdict.evidence[0].threshold.reset();
  EXPECT_THAT(verdict_json(verdict), HasSubstr(R"("value":null,)"
                                               R"("relation":"<",)"
                                               R"("threshold":null)"));
}

TEST(VerdictText, SpellsEveryStatusAsTheCloudDoes) {
  EXPECT_EQ(rule_status_name(RuleStatus::in_progress), "InProgress");
  EXPECT_EQ(rule_status_name(RuleStatus::no_issues_found), "NoIssuesFound");
  EXPECT_EQ(rule_status_name(RuleStatus::issues_found), "IssuesFound");
  EXPECT_EQ(rule_status_name(RuleStatus::error), "Error");
  EXPECT_EQ(rule_status_name(RuleStatus::stopping), "Stopping");
  EXPECT_EQ(rule_status_name(RuleStatus::stopped), "Stopped");
}

}  // namespace
}  // namespace smdebug
