#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ModuleFacts module_of(std::string path, std::string kind, bool is_training,
                      Settings settings = {}) {
  return {std::move(path), std::move(kind), is_training, std::move(settings)};
}

ModuleFacts dropout(std::string path, bool is_training, double p = 0.5) {
  return module_of(std::move(path), "Dropout", is_training, {{"p", p}});
}

ModuleFacts batch_norm(std::string path, bool is_training, double tracks = 1) {
  return module_of(std::move(path), "BatchNorm1d", is_training,
                   {{"track_running_stats", tracks}});
}

void add_parameter(RunFacts& facts, std::string tensor,
                   bool is_trainable = true, bool is_updated = true) {
  ParameterFacts parameter;
  parameter.tensor = std::move(tensor);
  parameter.is_trainable = is_trainable;
  if (is_updated) parameter.updated_by = GroupPosition{0, 0};
  facts.parameters.push_back(std::move(parameter));
}

// A linear layer, a batch normalization, and a dropout.
RunFacts network(bool is_training, Step step = 0) {
  RunFacts facts;
  facts.step = step;
  add_parameter(facts, "Net_0.weight");
  add_parameter(facts, "Net_1.weight");
  facts.optimizers = {{"Adam", {{2, 0, {}}}}};
  facts.modules = {module_of("Net", "Net", is_training),
                   module_of("0", "Linear", is_training),
                   batch_norm("1", is_training), dropout("2", is_training)};
  return facts;
}

TEST(WrongMode, FindsAModelThatWasNeverSetToTraining) {
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {network(false)}), 20);
  EXPECT_EQ(rule.verdict().message,
            "Net: an optimizer has updated the model in evaluation mode since "
            "step 0, with 2 of 2 dropout and normalization modules: 1 "
            "(BatchNorm1d), 2 (Dropout), at step 20 (TRAIN step 20)");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("model.eval()"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  EXPECT_EQ(rule.verdict().evidence.size(), 2u);
}

// The same in Keras, which names layers and weights in another way.
RunFacts keras_network(bool is_training, bool is_frozen) {
  RunFacts facts;
  add_parameter(facts, "dense/weights/dense/kernel:0");
  add_parameter(facts, "dense_1/weights/dense_1/kernel:0");
  add_parameter(facts, "dense_bn/weights/dense_bn/gamma:0", !is_frozen,
                !is_frozen);
  facts.optimizers = {{"Adam", {{2, 0, {}}}}};
  facts.modules = {
      module_of("sequential", "Sequential", true),
      module_of("dense", "Dense", true),
      module_of("dense_bn", "BatchNormalization", is_training,
                {{"track_running_stats", 1}}),
  };
  return facts;
}

TEST(WrongMode, JudgesTheLayersOfKeras) {
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {keras_network(false, false)}), -1);
  EXPECT_EQ(rule.finish().severity, Severity::advice);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("with 1 of 1 dropout and normalization modules: "
                        "dense_bn (BatchNormalization)"));
  RuleHarness good("WrongMode");
  EXPECT_EQ(good.fires_with(10, {keras_network(true, false)}), -1);
  EXPECT_EQ(good.finish().status, RuleStatus::no_issues_found);
  RuleHarness frozen("WrongMode");
  EXPECT_EQ(frozen.fires_with(10, {keras_network(false, true)}), -1);
  EXPECT_NE(frozen.finish().status, RuleStatus::issues_found);
}

TEST(WrongMode, AdvisesAgainstEvaluationsInTrainingMode) {
  RunFacts facts = network(true);
  facts.loop.evaluations_in_training_mode = 9;
  RunFacts later = network(true, 30);
  later.loop.evaluations_in_training_mode = 10;
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts, later}), 40);
  EXPECT_EQ(rule.verdict().message,
            "Net: all 10 losses without gradients were computed in training "
            "mode, although the model has 2 dropout and normalization modules, "
            "until step 40 (TRAIN step 40)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("model.eval() before each"));
  EXPECT_EQ(rule.verdict().severity, Severity::advice);
}

TEST(WrongMode, NeverSaysNoIssueInFewerStepsThanItNeeds) {
  RuleHarness rule("WrongMode", {{"num_steps", "100"}});
  EXPECT_EQ(rule.fires_with(10, {network(true)}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_EQ(rule.verdict().message,
            "nothing to judge: 91 steps are too few; 101 are needed");
}

TEST(WrongMode, LeavesEvaluationsOfModelsAloneThatDoNotDependOnTheMode) {
  RunFacts facts = network(true);
  facts.modules.resize(2);  // the linear layer is left
  facts.loop.evaluations_in_training_mode = 100;
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TEST(WrongMode, FindsAnEvaluationThatWasNotUndone) {
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {network(true), network(false, 50)}), 70);
  EXPECT_THAT(rule.verdict().message, HasSubstr("since step 50"));
}

TEST(WrongMode, CountsFromTheFirstStepWhenOtherFactsChange) {
  RuleHarness rule("WrongMode", {{"num_steps", "30"}});
  RunFacts later = network(false, 20);
  later.parameters[0].is_trainable = false;
  EXPECT_EQ(rule.fires_with(10, {network(false), later}), 40);
  EXPECT_THAT(rule.verdict().message, HasSubstr("since step 0,"));
}

// The dropout between the layers of an LSTM, which is the whole model.
TEST(WrongMode, FindsDropoutInsideOfARecurrentModel) {
  RunFacts facts;
  add_parameter(facts, "LSTM_weight_ih_l0");
  facts.modules = {module_of("LSTM", "LSTM", false, {{"dropout", 0.2}})};
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), 20);
}

TEST(WrongMode, FindsItOnASecondWorker) {
  RuleHarness rule("WrongMode");
  rule.knows(network(true), "worker_0");
  EXPECT_EQ(rule.fires_with(10, {network(false)}, "worker_1"), 20);
  EXPECT_THAT(rule.verdict().message, HasSubstr("Net (worker_1): "));
}

// DeepSpeed, FSDP and master weights: nothing seems to be in an optimizer.
TEST(WrongMode, FindsItWithAnOptimizerThatHoldsCopies) {
  RunFacts facts = network(false);
  for (ParameterFacts& each : facts.parameters) each.updated_by.reset();
  facts.optimizers = {{"FusedAdam", {{1, 1, {}}}}};
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), 20);
}

TEST(WrongMode, PassesATrainingThatReturnsToItsMode) {
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {network(true)}), -1);
  EXPECT_EQ(rule.finish().message, "nothing found in 9 steps");
}

TEST(WrongMode, PassesAnUpdateInEvaluationModeThatIsSoonUndone) {
  RuleHarness rule("WrongMode", {{"num_steps", "20"}});
  EXPECT_EQ(
      rule.fires_with(10, {network(true), network(false, 20), network(true, 30),
                           network(false, 40), network(true, 50)}),
      -1);
}

TEST(WrongMode, OnlyAdvisesAboutNormalizationThatIsSetToEvaluationAlone) {
  RunFacts facts = network(true);
  facts.modules[2] = batch_norm("1", false);
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_EQ(rule.finish().severity, Severity::advice);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("a part of the model in evaluation mode"),
                    HasSubstr("1 of 2 dropout and normalization modules: 1")));
}

// model.eval(), then train() on the dropout.
TEST(WrongMode, OnlyAdvisesIfSomeModulesTrainInAModelSetToEvaluation) {
  RunFacts facts = network(false);
  facts.modules[3] = dropout("2", true);
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_EQ(rule.finish().severity, Severity::advice);
}

// Normalization without trainable parameters, and dropout in a frozen backbone.
TEST(WrongMode, PassesPartsThatAreFrozen) {
  RunFacts facts;
  add_parameter(facts, "Net_backbone.0.weight", false, false);
  add_parameter(facts, "Net_backbone.1.weight", false, false);
  add_parameter(facts, "Net_norm.weight", false);
  add_parameter(facts, "Net_head.weight");
  facts.modules = {module_of("Net", "Net", true),
                   module_of("backbone", "Sequential", false),
                   batch_norm("backbone.1", false),
                   dropout("backbone.2.inner", false),
                   batch_norm("norm", false),
                   module_of("head", "Linear", true),
                   dropout("drop", true)};
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(WrongMode, PassesATeacherAndTheOtherModelOfAGan) {
  for (const bool is_teacher : {true, false}) {
    RunFacts facts = network(true);
    add_parameter(facts, "Other_0.weight", true, !is_teacher);
    facts.modules.push_back(module_of("Other", "Other", false));
    facts.modules.push_back(dropout("Other.1", false));
    RuleHarness rule("WrongMode");
    EXPECT_EQ(rule.fires_with(10, {facts}), -1);
    EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  }
}

TEST(WrongMode, FindsTheStudentWhoseTeacherIsInEvaluationModeToo) {
  RunFacts facts = network(false);
  add_parameter(facts, "Teacher_0.weight", false, false);
  facts.modules.push_back(module_of("Teacher", "Net", false));
  facts.modules.push_back(dropout("Teacher.1", false));
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), 20);
  EXPECT_THAT(rule.verdict().message, HasSubstr("2 of 2 dropout"));
}

TEST(WrongMode, DoesNotJudgeAModelWhoseModeDoesNotMatter) {
  RunFacts facts = network(false);
  facts.modules[2] = batch_norm("1", false, /*tracks=*/0);
  facts.modules[3] = dropout("2", false, /*p=*/0);
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {facts}), -1);
  EXPECT_EQ(rule.finish().message,
            "nothing to judge: of 4 modules, none that trains is a dropout or "
            "a normalization with running statistics");
  EXPECT_TRUE(rule.verdict().lacks_data);
}

TEST(WrongMode, ReportsThatARunHasNoFacts) {
  RuleHarness rule("WrongMode");
  EXPECT_EQ(rule.fires_with(10, {}), -1);
  EXPECT_THAT(rule.finish().message,
              HasSubstr("nothing to judge: the run has no modes of modules"));
  EXPECT_TRUE(rule.verdict().lacks_data);
}

}  // namespace
}  // namespace smdebug
