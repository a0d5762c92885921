#include "smdebug/core/tensor_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The names that runs have on disk, written out.

TEST(TensorNames, OfModulesAreThoseOnDisk) {
  EXPECT_EQ(parameter_name("Net", "fc1.weight"), "Net_fc1.weight");
  EXPECT_EQ(gradient_name("Net_fc1.weight"), "gradient/Net_fc1.weight");
  EXPECT_EQ(gradient_name("net_dense0_weight"), "gradient/net_dense0_weight");
  EXPECT_EQ(buffer_name("Net", "bn1.running_mean"),
            "buffer/Net_bn1.running_mean");
  EXPECT_EQ(optimizer_state_name("Net_fc1.weight", "exp_avg"),
            "optimizer_state/Net_fc1.weight/exp_avg");
  EXPECT_EQ(learning_rate_name("SGD_1", 12), "learning_rate/SGD_1/12");
  EXPECT_EQ(input_name("layer1.0.relu", 0), "layer1.0.relu_input_0");
  EXPECT_EQ(output_name("layer1.0.relu", 17), "layer1.0.relu_output_17");
  EXPECT_EQ(output_name(activation_gradient_module("fc1"), 0),
            "activation_gradient/fc1_output_0");
}

TEST(TensorNames, OfLayersAreThoseOnDisk) {
  EXPECT_EQ(layer_weight_name("dense", "dense/kernel:0"),
            "dense/weights/dense/kernel:0");
  EXPECT_EQ(weight_name("dense/kernel:0"), "weights/dense/kernel:0");
  EXPECT_EQ(layer_inputs_name("dense"), "dense/inputs");
  EXPECT_EQ(layer_outputs_name("dense"), "dense/outputs");
  EXPECT_EQ(activation_input_name("dense", "relu"), "dense/relu_input");
}

TEST(TensorNames, OfVariablesHaveTheNumberOfTheirOutputOnce) {
  EXPECT_EQ(variable_name("dense/kernel"), "dense/kernel:0");
  EXPECT_EQ(variable_name("dense/kernel:0"), "dense/kernel:0");
  EXPECT_EQ(variable_name("dense/kernel:1"), "dense/kernel:1");
}

TEST(TensorNames, OfGradientsOfVariablesLeaveOutTheNumberOfTheOutput) {
  EXPECT_EQ(variable_gradient_name("dense/kernel:0"),
            "gradients/dense/kernelGrad");
  EXPECT_EQ(variable_gradient_name("kernel"), "gradients/kernelGrad");
  EXPECT_EQ(variable_gradient_name("a:b/kernel:0"), "gradients/a:b/kernelGrad");
}

TEST(TensorNames, OfOneOfAKindHaveNoNumber) {
  EXPECT_THAT(numbered_names("labels", 1), ElementsAre("labels"));
  EXPECT_THAT(
      numbered_names("dense/inputs", 3),
      ElementsAre("dense/inputs_0", "dense/inputs_1", "dense/inputs_2"));
  EXPECT_THAT(numbered_names("labels", 0), IsEmpty());
}

TEST(TensorNames, OfBoostedTreesAreThoseOnDisk) {
  EXPECT_EQ(metric_name("train", "rmse"), "train-rmse");
  EXPECT_EQ(metric_deviation_name("test", "auc"), "test-auc-std");
  EXPECT_EQ(member_name("trees", "Gain"), "trees/Gain");
  EXPECT_EQ(member_name("full_shap", "f0"), "full_shap/f0");
  EXPECT_EQ(feature_importance_name("total_gain", "age"),
            "feature_importance/total_gain/age");
}

TEST(TensorNames, OfScalarsAreThoseOnDisk) {
  EXPECT_EQ(scalar_name("accuracy"), "scalar/accuracy");
}

TEST(UniqueNames, NumberTheSecondAndLaterOnes) {
  UniqueNames names;
  EXPECT_EQ(names.take("Net"), "Net");
  EXPECT_EQ(names.take("Net"), "Net_1");
  EXPECT_EQ(names.take("Other"), "Other");
  EXPECT_EQ(names.take("Net"), "Net_2");
}

TEST(UniqueNames, PassOverANumberThatIsTaken) {
  UniqueNames names({"Net", "Net_1"});
  EXPECT_EQ(names.take("Net"), "Net_2");
  EXPECT_EQ(names.take("Net_1"), "Net_1_1");
}

TEST(UniqueNames, NameTheOuterThingBeforeTheyCount) {
  UniqueNames names;
  EXPECT_EQ(names.take("dense"), "dense");
  EXPECT_EQ(names.take_inside("block", "norm"), "norm");
  EXPECT_EQ(names.take_inside("block", "dense"), "block/dense");
  EXPECT_EQ(names.take_inside("block", "dense"), "block/dense_1");
  EXPECT_EQ(names.take_inside("block", "dense"), "block/dense_2");
  EXPECT_EQ(names.take("dense"), "dense_1");
}

}  // namespace
}  // namespace smdebug
