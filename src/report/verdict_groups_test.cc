#include "smdebug/report/verdict_groups.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdict verdict(const std::string& rule, RuleStatus status,
                const std::string& message = "") {
  Verdict made;
  made.rule = rule;
  made.status = status;
  made.message = message;
  return made;
}

Verdict without_data(const std::string& rule, std::uint64_t found) {
  Verdict made = verdict(rule, RuleStatus::error, "only 3 of 500 images");
  made.lacks_data = true;
  made.observations_found = found;
  return made;
}

Verdict advice(const std::string& rule) {
  Verdict made = verdict(rule, RuleStatus::issues_found, "not centered");
  made.severity = Severity::advice;
  return made;
}

std::string table(const std::vector<Verdict>& verdicts, bool are_default) {
  return summary_table(summary_lines(verdicts, are_default), 12);
}

TEST(VerdictGroups, TellTooLittleDataFromNoData) {
  EXPECT_EQ(group_of(without_data("A", 3)), VerdictGroup::too_little);
  EXPECT_EQ(group_of(without_data("A", 0)), VerdictGroup::not_applicable);
  EXPECT_EQ(group_of(verdict("A", RuleStatus::error)), VerdictGroup::failed);
}

TEST(VerdictGroups, NameARuleOnceIfItsMessageBeginsWithIt) {
  EXPECT_EQ(table({verdict("Yes", RuleStatus::issues_found,
                           "Yes: the condition is met at step 0")},
                  false),
            "  found  Yes: the condition is met at step 0\n");
}

TEST(VerdictGroups, CountTheRulesOfTheUserThatJudgedNothing) {
  const Verdict clean = verdict("A", RuleStatus::no_issues_found);
  const Verdict tree = without_data("TreeDepth", 0);
  const Verdict images = without_data("CheckInputImages", 3);
  EXPECT_EQ(outcome_text(std::vector{clean, tree}, false),
            "nothing found, but TreeDepth judged nothing");
  EXPECT_EQ(outcome_text(std::vector{clean, tree, images}, false),
            "nothing found, but 2 rules judged nothing");
  EXPECT_EQ(outcome_text(std::vector{images}, false),
            "CheckInputImages judged nothing");
  EXPECT_EQ(outcome_text(std::vector{clean, tree}, true), "nothing found");
}

TEST(VerdictGroups, ShowAFactThatIsNoFindingInOneLine) {
  Verdict clean = verdict("A", RuleStatus::no_issues_found);
  clean.note = "2 of 6 parameters are frozen: a, b";
  EXPECT_EQ(outcome_text(std::vector{clean}), "nothing found");
  EXPECT_EQ(table({clean}, true),
            "  note      2 of 6 parameters are frozen: a, b\n"
            "  no issue  A\n");
}

TEST(VerdictGroups, SayNothingFoundOnlyIfARuleJudged) {
  const Verdict clean = verdict("A", RuleStatus::no_issues_found);
  const Verdict fired = verdict("B", RuleStatus::issues_found);
  EXPECT_EQ(outcome_text(std::vector{clean}), "nothing found");
  EXPECT_EQ(outcome_text(std::vector{without_data("A", 3)}),
            "too little to judge");
  EXPECT_EQ(outcome_text(std::vector{without_data("A", 0)}),
            "nothing to judge");
  EXPECT_EQ(outcome_text(std::vector{clean, fired}), "B fired");
  EXPECT_EQ(outcome_text(std::vector{clean, advice("C")}),
            "nothing found, except for advice");
  EXPECT_EQ(outcome_text(std::vector{clean, verdict("D", RuleStatus::error)}),
            "a rule failed");
}

TEST(VerdictGroups, NeverNameADefaultRuleThatDoesNotApply) {
  const std::vector<Verdict> verdicts = {
      verdict("DeadRelu", RuleStatus::no_issues_found),
      without_data("TreeDepth", 0), without_data("CheckInputImages", 3)};
  EXPECT_EQ(table(verdicts, true),
            "  too little  CheckInputImages: only 3 of 500 images\n"
            "  no issue    DeadRelu\n");
  EXPECT_THAT(table(verdicts, false),
              HasSubstr("TreeDepth: only 3 of 500 images"));
}

TEST(VerdictGroups, SayWhereTheReasonsOfSeveralRulesWithTooLittleDataAre) {
  EXPECT_EQ(
      table({without_data("Overfit", 3), without_data("DeadRelu", 3)}, true),
      "  too little  Overfit, DeadRelu; 'smdebug check RUN' shows why\n");
}

TEST(VerdictGroups, ListAdviceBehindFindingsAndNeverAsTheirCause) {
  Verdict late = verdict("ExplodingTensor", RuleStatus::issues_found, "NaN");
  late.severity = Severity::fatal;
  late.step.global = 40;
  late.advice = "lower the learning rate";
  EXPECT_EQ(table({advice("CheckInputImages"), late}, true),
            "  found   ExplodingTensor: NaN\n"
            "  try     lower the learning rate\n"
            "  advice  CheckInputImages: not centered\n");
}

TEST(VerdictGroups, ShowTwoPiecesOfAdviceIfThereIsNoFinding) {
  std::vector<Verdict> all = {advice("CheckInputImages"), advice("TreeDepth")};
  EXPECT_EQ(table(all, true),
            "  advice  CheckInputImages: not centered\n"
            "          TreeDepth: not centered\n");
  all.push_back(advice("NLPSequenceRatio"));
  EXPECT_EQ(table(all, true),
            "  advice  CheckInputImages: not centered\n"
            "          NLPSequenceRatio: not centered\n"
            "          and 1 more: TreeDepth\n");
}

TEST(VerdictGroups, KeepTheFindingsIfThereAreMoreLinesThanTheLimit) {
  std::vector<SummaryLine> lines = {
      {"run", "/a", 5}, {"found", "A: bad"}, {"loss", "x", 8}};
  EXPECT_EQ(summary_table(lines, 1), "  found  A: bad\n");
  EXPECT_EQ(summary_table(lines, 2), "  run    /a\n  found  A: bad\n");
}

TEST(VerdictGroups, FitManyFindingsIntoFewLines) {
  std::vector<Verdict> many;
  for (const char* rule : {"A", "B", "C", "D", "E"}) {
    many.push_back(verdict(rule, RuleStatus::issues_found, "one\ntwo"));
    many.back().step.global = 3;
  }
  EXPECT_EQ(table(many, true),
            "  found  A: one two\n"
            "         B: one two\n"
            "         C: one two\n"
            "         D: one two\n"
            "  cause  A at step 3, B at step 3, C at step 3, D at step 3, E "
            "at step 3, or several of them\n");
}

Verdict finding(const std::string& rule, Step step, const std::string& kind) {
  Verdict made = verdict(rule, RuleStatus::issues_found, rule + " is bad");
  made.severity = Severity::serious;
  made.kind = kind;
  made.step.global = step;
  made.cause = "a cause of " + rule;
  made.advice = "mend " + rule;
  return made;
}

TEST(VerdictGroups, PutTheConsequencesUnderTheirCause) {
  EXPECT_EQ(
      table({finding("VanishingGradient", 40, ""),
             finding("LossNotDecreasing", 60, "the loss does not fall"),
             finding("LossInput", 4, "probabilities for a cross entropy")},
            true),
      "  found  LossInput: LossInput is bad\n"
      "         also: VanishingGradient at step 40, LossNotDecreasing at step "
      "60\n"
      "  cause  likely a cause of LossInput\n"
      "  try    mend LossInput\n");
}

TEST(VerdictGroups, NameBothOfTwoUnrelatedCauses) {
  EXPECT_EQ(
      table({finding("WrongMode", 30, "the whole model"),
             finding("VanishingGradient", 40, ""),
             finding("LossInput", 4, "probabilities for a cross entropy")},
            true),
      "  found  LossInput: LossInput is bad\n"
      "         also: VanishingGradient at step 40\n"
      "  found  WrongMode: WrongMode is bad\n"
      "  cause  LossInput at step 4, WrongMode at step 30, or both\n"
      "  try    mend LossInput\n");
}

TEST(VerdictGroups, ShowTheEvidenceUnlessTheMessageNamesItsTensor) {
  Verdict one = finding("DeadRelu", 4, "dead after updates");
  one.evidence.push_back({.tensor = "relu",
                          .worker = "worker_0",
                          .step = {4, Mode::train, 4},
                          .quantity = "dead units in percent",
                          .value = 80,
                          .relation = ">",
                          .threshold = 50});
  EXPECT_THAT(table({one}, true),
              HasSubstr("  found  DeadRelu: DeadRelu is bad\n"
                        "         relu at step 4: dead units in percent 80 > "
                        "50\n"));
  one.message = "80 % of the units of relu are dead";
  EXPECT_THAT(table({one}, true), Not(HasSubstr("dead units in percent")));
}

TEST(VerdictGroups, SayTheFindingsInFiveLinesHoweverManyThereAre) {
  std::vector<Verdict> many = {advice("CheckInputImages"), advice("TreeDepth"),
                               advice("NLPSequenceRatio")};
  for (int n = 0; n < 9; ++n) {
    many.push_back(finding("Own" + std::to_string(n), n, ""));
    if (n == 2) {
      many.push_back(finding("DeadRelu", 0, "dead from the first step on"));
      many.push_back(finding("VanishingGradient", 40, ""));
    }
    const auto lines = summary_lines(many, true);
    EXPECT_LE(lines.size(), kFindingLines) << n;
    EXPECT_NE(std::ranges::find(lines, "try", &SummaryLine::title),
              lines.end());
  }
}

}  // namespace
}  // namespace smdebug
