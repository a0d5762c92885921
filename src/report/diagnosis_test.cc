#include "smdebug/report/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/json_parts.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Verdict of(const std::string& rule, RuleStatus status, Step step,
           std::optional<std::size_t> position = std::nullopt) {
  Verdict verdict;
  verdict.rule = rule;
  verdict.status = status;
  verdict.step.global = step;
  verdict.position = position;
  return verdict;
}

Verdict fired(const std::string& rule, Step step, const std::string& kind = "",
              Severity severity = Severity::serious) {
  Verdict verdict = of(rule, RuleStatus::issues_found, step);
  verdict.kind = kind;
  verdict.severity = severity;
  return verdict;
}

Verdict at_position(const std::string& rule, Step step, std::size_t position) {
  return of(rule, RuleStatus::issues_found, step, position);
}

constexpr const char* kSoftmax = "probabilities for a cross entropy";
constexpr const char* kDeadAtOnce = "dead from the first step on";
constexpr const char* kDeadLater = "dead after updates";
constexpr const char* kStands = "the loss does not fall";
constexpr const char* kDiverges = "the loss diverges";

std::vector<std::string> rules_of(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> rules;
  for (const Verdict& verdict : verdicts) rules.push_back(verdict.rule);
  return rules;
}

// "A < B, C": A explains B and C.
std::vector<std::string> described(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> all;
  for (const Diagnosis& one : diagnose(verdicts)) {
    std::string text = one.cause.rule;
    for (const Verdict& effect : one.consequences)
      text +=
          (&effect == &one.consequences.front() ? " < " : ", ") + effect.rule;
    all.push_back(text);
  }
  return all;
}

TEST(Diagnosis, IsTheCauseWithItsConsequencesByOnset) {
  EXPECT_THAT(described({fired("LossNotDecreasing", 60, kStands),
                         fired("VanishingGradient", 40),
                         fired("LossInput", 4, kSoftmax)}),
              ElementsAre("LossInput < VanishingGradient, LossNotDecreasing"));
}

TEST(Diagnosis, FollowsAChainOfCauses) {
  EXPECT_THAT(described({fired("VanishingGradient", 70),
                         fired("ParametersNotTrained", 90, "gradients of 0",
                               Severity::advice),
                         fired("DeadRelu", 10, kDeadLater),
                         fired("LossNotDecreasing", 1, kDiverges)}),
              ElementsAre("LossNotDecreasing < DeadRelu, VanishingGradient, "
                          "ParametersNotTrained"));
}

TEST(Diagnosis, OfALayerWithoutAnOptimizerExplainsThatTheLossReturned) {
  const char* returned = "as high again as it began";
  EXPECT_THAT(described({fired("LossNotDecreasing", 120, returned),
                         fired("ParametersNotTrained", 90,
                               "the optimizer holds other parameters")}),
              ElementsAre("ParametersNotTrained < LossNotDecreasing"));
  // Weights that rest do not let a loss diverge.
  EXPECT_THAT(described({fired("LossNotDecreasing", 120, kDiverges),
                         fired("ParametersNotTrained", 90, "in no optimizer")}),
              ElementsAre("ParametersNotTrained", "LossNotDecreasing"));
}

TEST(Diagnosis, OfADropoutThatIsTooHighExplainsDeadLayers) {
  EXPECT_THAT(described({fired("DeadRelu", 20, kDeadLater),
                         fired("VanishingGradient", 176),
                         fired("LossNotDecreasing", 249,
                               "a guess, while dropout drops most units")}),
              ElementsAre("LossNotDecreasing < DeadRelu, VanishingGradient"));
}

TEST(Diagnosis, IsLikelyIfTheTableExplainsAllThatFired) {
  const std::vector<Verdict> verdicts = {fired("DeadRelu", 0, kDeadAtOnce),
                                         fired("VanishingGradient", 40)};
  EXPECT_EQ(confidence_text(diagnose(verdicts).front()), "likely");
}

TEST(Diagnosis, IsOneOfTwoIfTwoCausesAreUnrelated) {
  const std::vector<Verdict> verdicts = {
      fired("WrongMode", 30, "the whole model"),
      fired("LossInput", 4, kSoftmax), fired("LossNotDecreasing", 60, kStands)};
  EXPECT_THAT(described(verdicts),
              ElementsAre("LossInput < LossNotDecreasing", "WrongMode"));
  EXPECT_EQ(confidence_text(diagnose(verdicts)[1]), "one of two");
}

TEST(Diagnosis, ListsUnrelatedFindingsByOnsetThenByTheTableNeverByFileOrder) {
  EXPECT_THAT(described({fired("Late", 30), fired("Early", 20)}),
              ElementsAre("Early", "Late"));
  std::vector<Verdict> verdicts = {
      fired("Overfit", 30), fired("VanishingGradient", 30),
      fired("WrongMode", 30, "some modules"), fired("AllZero", 30)};
  verdicts.erase(verdicts.begin() + 2);
  EXPECT_THAT(described(verdicts),
              ElementsAre("AllZero < VanishingGradient", "Overfit"));
  std::ranges::reverse(verdicts);
  EXPECT_THAT(described(verdicts),
              ElementsAre("AllZero < VanishingGradient", "Overfit"));
}

// The import of a library may take longer than the limit.
TEST(Diagnosis, DoesNotLeadWithAStallBeforeTheFirstStep) {
  EXPECT_THAT(
      described({fired("StalledTrainingRule", -1), fired("DeadRelu", 40)}),
      ElementsAre("DeadRelu", "StalledTrainingRule"));
}

TEST(Diagnosis, OfOneStepIsWhatWasExecutedFirst) {
  EXPECT_THAT(
      described({at_position("Loss", 5, 40), at_position("FirstLayer", 5, 2)}),
      ElementsAre("FirstLayer", "Loss"));
}

TEST(Diagnosis, NamesARuleThatWasAskedTwiceOnceAsACause) {
  EXPECT_THAT(
      described({fired("VanishingGradient", 9), fired("VanishingGradient", 7)}),
      ElementsAre("VanishingGradient < VanishingGradient"));
}

TEST(Diagnosis, AdviceOnDataIsACauseOnlyIfItExplainsAFinding) {
  std::vector<Verdict> verdicts = {
      fired("CheckInputImages", 1, "", Severity::advice),
      fired("LossNotDecreasing", 60, kDiverges),
      fired("LabelsAndInputs", 90, "large inputs", Severity::advice)};
  EXPECT_THAT(described(verdicts),
              ElementsAre("LabelsAndInputs < LossNotDecreasing"));
  EXPECT_EQ(diagnose(verdicts).front().cause.severity, Severity::serious);
  const std::vector<Verdict> ordered = in_order_of_cause(verdicts);
  EXPECT_THAT(
      rules_of(ordered),
      ElementsAre("LabelsAndInputs", "LossNotDecreasing", "CheckInputImages"));
  EXPECT_EQ(ordered[2].severity, Severity::advice);
  verdicts[1].status = RuleStatus::no_issues_found;
  EXPECT_THAT(diagnose(verdicts), IsEmpty());
  EXPECT_EQ(in_order_of_cause(verdicts).front().severity, Severity::advice);
}

TEST(Diagnosis, AdviceDoesNotReplaceACauseThatIsKnown) {
  EXPECT_THAT(
      described({fired("LabelsAndInputs", 3, "large inputs", Severity::advice),
                 fired("LossInput", 4, kSoftmax),
                 fired("LossNotDecreasing", 60, kStands)}),
      ElementsAre("LossInput < LossNotDecreasing"));
}

TEST(Diagnosis, OrdersVerdictsThatDidNotFireAsGiven) {
  const std::vector<Verdict> verdicts = {
      of("Healthy", RuleStatus::no_issues_found, 90), fired("Late", 30),
      fired("Early", 20), of("Broken", RuleStatus::error, 1)};
  EXPECT_THAT(rules_of(in_order_of_cause(verdicts)),
              ElementsAre("Early", "Late", "Healthy", "Broken"));
}

TEST(Diagnosis, NamesALikelyCauseOnlyIfTwoRulesFired) {
  std::vector<Verdict> verdicts = {fired("LossInput", 4, kSoftmax),
                                   of("B", RuleStatus::no_issues_found, 5)};
  EXPECT_EQ(likely_cause_text(verdicts), "");
  EXPECT_EQ(likely_cause_json(verdicts).dump(), "null");
  verdicts.push_back(fired("LossNotDecreasing", 60, kStands));
  EXPECT_EQ(likely_cause_text(verdicts),
            "LossInput at step 4, which can explain the other rule that fired");
  verdicts[0].evidence.push_back({"loss_output_0"});
  verdicts.push_back(fired("StalledTrainingRule", 70));
  EXPECT_EQ(likely_cause_text(verdicts),
            "LossInput at step 4, in loss_output_0, the first of 3 rules that "
            "fired");
}

TEST(Diagnosis, HoldsCauseConsequencesEvidenceAndAdviceInJson) {
  std::vector<Verdict> verdicts = {fired("SaturatedActivation", 4),
                                   fired("VanishingGradient", 40)};
  verdicts[0].message = "tanh is flat";
  verdicts[0].advice = "use ReLU";
  verdicts[0].evidence.push_back({.tensor = "tanh_output_0",
                                  .worker = "worker_0",
                                  .step = {4, Mode::train, 4},
                                  .quantity = "saturated units in percent",
                                  .value = 97.5,
                                  .relation = ">",
                                  .threshold = 50});
  const auto one = diagnose(verdicts);
  EXPECT_EQ(evidence_text(one.front()),
            "tanh_output_0 at step 4: saturated units in percent 97.5 > 50");
  EXPECT_EQ(consequences_text(one.front(), verdicts),
            "VanishingGradient at step 40");
  const std::string json = diagnosis_json(verdicts).dump();
  EXPECT_THAT(json,
              testing::StartsWith(
                  R"([{"cause":{"rule":"SaturatedActivation","kind":null,)"
                  R"("severity":"serious","step":{"global":4,)"));
  for (const char* part :
       {R"("message":"tanh is flat"})", R"("confidence":"likely")",
        R"("consequences":[{"rule":"VanishingGradient")",
        R"("evidence":{"tensor":"tanh_output_0")", R"("try":"use ReLU"})"}) {
    EXPECT_THAT(json, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace smdebug
