#include "smdebug/report/likely_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;

Verdict of(const std::string& rule, RuleStatus status, Step step,
           std::optional<std::size_t> position = std::nullopt) {
  Verdict verdict;
  verdict.rule = rule;
  verdict.status = status;
  verdict.step.global = step;
  verdict.position = position;
  return verdict;
}

Verdict fired(const std::string& rule, Step step,
              std::optional<std::size_t> position = std::nullopt) {
  return of(rule, RuleStatus::issues_found, step, position);
}

std::vector<std::string> rules_of(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> rules;
  for (const Verdict& verdict : verdicts) rules.push_back(verdict.rule);
  return rules;
}

TEST(LikelyCause, WhatFiredComesFirstByStep) {
  const std::vector<Verdict> verdicts = {
      of("Healthy", RuleStatus::no_issues_found, 90), fired("Late", 30),
      fired("Early", 20), of("Broken", RuleStatus::error, 1)};
  EXPECT_THAT(rules_of(in_order_of_cause(verdicts)),
              ElementsAre("Early", "Late", "Healthy", "Broken"));
  EXPECT_EQ(likely_cause(verdicts), &verdicts[2]);
}

TEST(LikelyCause, OfOneStepIsWhatWasExecutedFirst) {
  const std::vector<Verdict> verdicts = {
      fired("Nowhere", 5), fired("Loss", 5, 40), fired("FirstLayer", 5, 2)};
  EXPECT_THAT(rules_of(in_order_of_cause(verdicts)),
              ElementsAre("FirstLayer", "Loss", "Nowhere"));
  EXPECT_EQ(likely_cause(verdicts), &verdicts[2]);
}

// A loss that leaps is dated by the leap, whose updates end units.
TEST(LikelyCause, ALossThatLeaptComesBeforeUnitsThatDiedLater) {
  const std::vector<Verdict> verdicts = {fired("DeadRelu", 10, 3),
                                         fired("LossNotDecreasing", 1),
                                         fired("VanishingGradient", 70, 5)};
  EXPECT_EQ(likely_cause(verdicts), &verdicts[1]);
}

TEST(LikelyCause, EqualsKeepTheirOrder) {
  const std::vector<Verdict> verdicts = {fired("A", 5, 1), fired("B", 5, 1)};
  EXPECT_EQ(likely_cause(verdicts), &verdicts[0]);
}

TEST(LikelyCause, AMistakeInTheScriptComesBeforeWhatItLeadsTo) {
  const std::vector<Verdict> verdicts = {fired("DeadRelu", 0),
                                         fired("LossNotDecreasing", 30),
                                         fired("ParametersNotTrained", 40)};
  EXPECT_THAT(
      rules_of(in_order_of_cause(verdicts)),
      ElementsAre("ParametersNotTrained", "DeadRelu", "LossNotDecreasing"));
  EXPECT_EQ(likely_cause_text(verdicts),
            "ParametersNotTrained at step 40, which can explain the 2 other "
            "rules that fired");
}

TEST(LikelyCause, DataComeBeforeMistakesInTheScript) {
  const std::vector<Verdict> verdicts = {fired("ExplodingTensor", 0),
                                         fired("LossInput", 20),
                                         fired("LabelsAndInputs", 40)};
  EXPECT_THAT(rules_of(in_order_of_cause(verdicts)),
              ElementsAre("LabelsAndInputs", "LossInput", "ExplodingTensor"));
}

TEST(LikelyCause, AdviceOnTheScaleOfDataIsTheCauseIfSomethingGoesWrong) {
  std::vector<Verdict> verdicts = {fired("CheckInputImages", 1),
                                   fired("LossNotDecreasing", 60),
                                   fired("LabelsAndInputs", 90)};
  verdicts[0].severity = verdicts[2].severity = Severity::advice;
  const std::vector<Verdict> ordered = in_order_of_cause(verdicts);
  EXPECT_THAT(
      rules_of(ordered),
      ElementsAre("LabelsAndInputs", "LossNotDecreasing", "CheckInputImages"));
  EXPECT_EQ(ordered[0].severity, Severity::warning);
  EXPECT_EQ(ordered[2].severity, Severity::advice);
  EXPECT_EQ(likely_cause_text(verdicts),
            "LabelsAndInputs at step 90, which can explain the other rule that "
            "fired");
  verdicts[1].status = RuleStatus::no_issues_found;
  EXPECT_EQ(in_order_of_cause(verdicts)[0].severity, Severity::advice);
  EXPECT_EQ(likely_cause(verdicts), nullptr);
}

TEST(LikelyCause, DeadLayersExplainEqualOutputs) {
  std::vector<Verdict> verdicts = {fired("LossInput", 30),
                                   fired("VanishingGradient", 40),
                                   fired("LossNotDecreasing", 60)};
  verdicts[0].severity = Severity::warning;
  verdicts[1].step.global = 20;
  EXPECT_EQ(likely_cause(verdicts), &verdicts[1]);
  // What an operation proves has no other cause.
  verdicts[0].severity = Severity::error;
  EXPECT_EQ(likely_cause(verdicts), &verdicts[0]);
  verdicts[0].severity = Severity::warning;
  verdicts[1].rule = "TensorVariance";
  EXPECT_EQ(likely_cause(verdicts), &verdicts[0]);
}

TEST(LikelyCause, OfOneStepTheInitializationComesBeforeItsSymptoms) {
  const std::vector<Verdict> verdicts = {fired("DeadRelu", 0, 1),
                                         fired("WeightUpdateRatio", 0, 0),
                                         fired("PoorWeightInitialization", 0)};
  EXPECT_THAT(
      rules_of(in_order_of_cause(verdicts)),
      ElementsAre("PoorWeightInitialization", "WeightUpdateRatio", "DeadRelu"));
}

TEST(LikelyCause, ASymptomThatCameEarlierIsNotExplainedByALargeUpdate) {
  const std::vector<Verdict> verdicts = {fired("WeightUpdateRatio", 20),
                                         fired("VanishingGradient", 10)};
  EXPECT_EQ(likely_cause(verdicts), &verdicts[1]);
}

TEST(LikelyCause, IsNotNamedWhereOneRuleFired) {
  const std::vector<Verdict> verdicts = {
      fired("A", 5), of("B", RuleStatus::no_issues_found, 5)};
  EXPECT_EQ(likely_cause(verdicts), nullptr);
  EXPECT_EQ(likely_cause_text(verdicts), "");
}

TEST(LikelyCause, IsTheFirstTensorInASentence) {
  std::vector<Verdict> verdicts = {fired("A", 7), fired("B", 5)};
  verdicts[1].evidence.push_back({"fc1.weight"});
  EXPECT_EQ(likely_cause_text(verdicts),
            "B at step 5, in fc1.weight, the first of 2 rules that fired");
}

}  // namespace
}  // namespace smdebug
