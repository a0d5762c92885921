#include "smdebug/capture/step_policy.h"

#include <string>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

constexpr std::uint64_t kGenerator = 1, kDiscriminator = 2;

ModelCall training(std::uint64_t model, std::string_view device = {}) {
  return {.model = model, .mode = Mode::train, .device = device};
}

ModelCall evaluating(std::uint64_t model) {
  return {.model = model, .mode = Mode::eval, .is_training = false};
}

TEST(StepPolicy, IsFoundByItsName) {
  EXPECT_EQ(find_step_on("forward"), StepOn::forward);
  EXPECT_EQ(find_step_on("optimizer"), StepOn::optimizer);
  EXPECT_EQ(find_step_on("leading_model"), StepOn::leading_model);
  EXPECT_EQ(find_step_on("backward"), std::nullopt);
  EXPECT_EQ(find_step_on(""), std::nullopt);
}

// --- forward ---

TEST(ForwardSteps, BeginWithEachCallOfEachModel) {
  StepPolicy policy(StepOn::forward);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step(training(kDiscriminator)));
  EXPECT_TRUE(policy.begins_step(evaluating(kDiscriminator)));
}

TEST(ForwardSteps, NeedNotBeAskedWhileNoCallNamesItsDevice) {
  EXPECT_TRUE(StepPolicy(StepOn::forward).each_call_is_a_step());
  EXPECT_FALSE(StepPolicy(StepOn::optimizer).each_call_is_a_step());
  EXPECT_FALSE(StepPolicy(StepOn::leading_model).each_call_is_a_step());
}

TEST(ForwardSteps, TakeTheDevicesOfOneBatchTogether) {
  StepPolicy policy(StepOn::forward);
  for (int step = 0; step < 3; ++step) {
    EXPECT_TRUE(policy.begins_step(training(kGenerator, "gpu(0)")));
    EXPECT_FALSE(policy.begins_step(training(kGenerator, "gpu(1)")));
    EXPECT_FALSE(policy.begins_step(training(kGenerator, "gpu(2)")));
  }
}

TEST(ForwardSteps, DoNotCarryTheDevicesOfOneModelOverToAnother) {
  StepPolicy policy(StepOn::forward);
  EXPECT_TRUE(policy.begins_step(training(kGenerator, "gpu(0)")));
  EXPECT_TRUE(policy.begins_step(training(kDiscriminator, "gpu(1)")));
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator, "gpu(0)")));
  EXPECT_TRUE(policy.begins_step(training(kGenerator, "gpu(1)")));
}

TEST(ForwardSteps, AnUpdateEndsTheBatchThatWasSplitOverDevices) {
  StepPolicy policy(StepOn::forward);
  EXPECT_TRUE(policy.begins_step(training(kGenerator, "gpu(0)")));
  policy.optimizer_acted();
  EXPECT_TRUE(policy.begins_step(training(kGenerator, "gpu(1)")));
}

// --- optimizer ---

TEST(OptimizerSteps, LastUntilAnOptimizerHasActed) {
  StepPolicy policy(StepOn::optimizer);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_FALSE(policy.begins_step(training(kGenerator)));
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
  policy.optimizer_acted();
  policy.optimizer_acted();  // two optimizers, one step
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
}

TEST(OptimizerSteps, EachCallThatDoesNotTrainIsAStep) {
  StepPolicy policy(StepOn::optimizer);
  EXPECT_TRUE(policy.begins_step(evaluating(kGenerator)));
  EXPECT_TRUE(policy.begins_step(evaluating(kGenerator)));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_FALSE(policy.begins_step(training(kGenerator)));
}

TEST(OptimizerSteps, BeginWhenTheModeChanges) {
  StepPolicy policy(StepOn::optimizer);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step({.model = kGenerator, .mode = Mode::global}));
  EXPECT_FALSE(policy.begins_step({.model = kGenerator, .mode = Mode::global}));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
}

TEST(OptimizerSteps, TrustTheModeAndAskTheFrameworkOnlyWhereItIsGlobal) {
  StepPolicy policy(StepOn::optimizer);
  const ModelCall global = {.mode = Mode::global, .is_training = false};
  EXPECT_TRUE(policy.begins_step(global));
  EXPECT_TRUE(policy.begins_step(global));
  const ModelCall train = {.mode = Mode::train, .is_training = false};
  EXPECT_TRUE(policy.begins_step(train));
  EXPECT_FALSE(policy.begins_step(train));
}

// --- leading_model ---

TEST(LeadingModelSteps, BeginWithEachCallOfTheModelThatWasCalledFirst) {
  StepPolicy policy(StepOn::leading_model);
  for (int step = 0; step < 3; ++step) {
    EXPECT_TRUE(policy.begins_step(training(kGenerator)));
    EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
    EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
    policy.backward_began();
    policy.backward_began();
    policy.optimizer_acted();
  }
}

TEST(LeadingModelSteps, AnotherModelTakesTheLeadAfterTwoBackwardPasses) {
  StepPolicy policy(StepOn::leading_model);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  policy.backward_began();
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
  policy.backward_began();
  EXPECT_TRUE(policy.begins_step(training(kDiscriminator)));
  EXPECT_FALSE(policy.begins_step(training(kGenerator)));
  policy.backward_began();
  EXPECT_TRUE(policy.begins_step(training(kDiscriminator)));
}

TEST(LeadingModelSteps, ACallOfTheLeaderForgetsTheBackwardPassesBefore) {
  StepPolicy policy(StepOn::leading_model);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  policy.backward_began();
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  policy.backward_began();
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
}

TEST(LeadingModelSteps, TakeTheCallsBeforeOneBackwardPassTogether) {
  StepPolicy policy(StepOn::leading_model);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step(training(kGenerator))) << "may be no training";
  policy.backward_began();
  for (int step = 0; step < 3; ++step) {
    EXPECT_TRUE(policy.begins_step(training(kGenerator)));
    for (int call = 0; call < 100; ++call)
      EXPECT_FALSE(policy.begins_step(training(kGenerator)));
    policy.backward_began();
    policy.optimizer_acted();
  }
}

TEST(LeadingModelSteps, BeginWithEachBatchWhoseGradientIsAccumulated) {
  StepPolicy policy(StepOn::leading_model);
  for (int batch = 0; batch < 8; ++batch) {
    EXPECT_TRUE(policy.begins_step(training(kGenerator)));
    policy.backward_began();
    if (batch % 4 == 3) policy.optimizer_acted();
  }
}

TEST(LeadingModelSteps, LastUntilTheUpdateIfNoBackwardPassIsReported) {
  StepPolicy policy(StepOn::leading_model);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  policy.optimizer_acted();
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_FALSE(policy.begins_step(training(kGenerator)));
  policy.optimizer_acted();
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
}

TEST(LeadingModelSteps, TakeATargetComputedWithoutGradientsIn) {
  StepPolicy policy(StepOn::leading_model);
  const ModelCall target = {.model = kGenerator, .can_learn = false};
  policy.backward_began();
  for (int step = 0; step < 3; ++step) {
    EXPECT_TRUE(policy.begins_step(training(kGenerator)));
    EXPECT_FALSE(policy.begins_step(target));
    policy.backward_began();
  }
}

TEST(LeadingModelSteps, BeginWithEachCallOfAnEvaluationWithoutGradients) {
  StepPolicy policy(StepOn::leading_model);
  const ModelCall sample = {.model = kGenerator, .can_learn = false};
  policy.backward_began();
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(policy.begins_step(sample));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  int begun = 0;
  for (int call = 0; call < 100; ++call) begun += policy.begins_step(sample);
  EXPECT_EQ(begun, 96) << "after a training call without a backward pass";
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
}

TEST(LeadingModelSteps, AnEvaluationEndsAStepThatWaitsForItsBackwardPass) {
  StepPolicy policy(StepOn::leading_model);
  policy.backward_began();
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step(evaluating(kGenerator)));
  EXPECT_TRUE(policy.begins_step(evaluating(kGenerator)));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step(evaluating(kDiscriminator)));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
}

TEST(LeadingModelSteps, ACallThatDoesNotTrainIsAStepAndTakesNoLead) {
  StepPolicy policy(StepOn::leading_model);
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
  EXPECT_TRUE(policy.begins_step(evaluating(kDiscriminator)));
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator)));
  EXPECT_TRUE(policy.begins_step(training(kGenerator)));
}

TEST(LeadingModelSteps, TakeTheDevicesOfOneBatchTogether) {
  StepPolicy policy(StepOn::leading_model);
  EXPECT_TRUE(policy.begins_step(training(kGenerator, "cpu(0)")));
  EXPECT_FALSE(policy.begins_step(training(kGenerator, "cpu(1)")));
  EXPECT_FALSE(policy.begins_step(training(kDiscriminator, "cpu(0)")));
  policy.optimizer_acted();
  EXPECT_TRUE(policy.begins_step(training(kGenerator, "cpu(0)")));
}

}  // namespace
}  // namespace smdebug
