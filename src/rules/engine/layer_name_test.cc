#include "rules/engine/layer_name.h"

#include <gtest/gtest.h>

#include "smdebug/core/tensor_names.h"

namespace smdebug {
namespace {

TEST(LayerName, IsFoundInTheNamesOfEachFramework) {
  EXPECT_EQ(layer_of("layer1.0.relu_output_12"), "layer1.0.relu");
  EXPECT_EQ(layer_of("CrossEntropyLoss_input_1"), "CrossEntropyLoss");
  EXPECT_EQ(layer_of("Net_fc1.weight"), "Net_fc1");
  EXPECT_EQ(layer_of("gradient/Net_fc1.weight"), "Net_fc1");
  EXPECT_EQ(layer_of("net_dense0_weight"), "net_dense0");
  EXPECT_EQ(layer_of("gradient/net_dense0_bias"), "net_dense0");
  EXPECT_EQ(layer_of("dense/weights/dense/kernel:0"), "dense");
  EXPECT_EQ(layer_of("dense/outputs"), "dense");
  EXPECT_EQ(layer_of("dense/inputs_0"), "dense");
  EXPECT_EQ(layer_of("gradients/dense/kernelGrad"), "dense");
  EXPECT_EQ(layer_of("weights/dense/kernel:0"), "dense");
}

TEST(LayerName, IsFoundInEachNameThatTheCoreBuilds) {
  EXPECT_EQ(layer_of(input_name("fc1", 3)), "fc1");
  EXPECT_EQ(layer_of(output_name("fc1", 12)), "fc1");
  EXPECT_EQ(layer_of(parameter_name("Net", "fc1.weight")), "Net_fc1");
  EXPECT_EQ(layer_of(gradient_name(parameter_name("Net", "fc1.weight"))),
            "Net_fc1");
  EXPECT_EQ(layer_of(layer_weight_name("dense", "dense/kernel:0")), "dense");
  EXPECT_EQ(layer_of(layer_inputs_name("dense")), "dense");
  EXPECT_EQ(layer_of(numbered_names(layer_outputs_name("dense"), 2)[1]),
            "dense");
  EXPECT_EQ(layer_of(variable_gradient_name("dense/kernel:0")), "dense");
}

TEST(LayerName, IsTheNameItselfWhereThatIsAllThereIs) {
  for (const char* name : {"loss", "", "a_output_x", "_output_0", ".weight",
                           "gradient/", "_weight", "0"}) {
    EXPECT_FALSE(layer_of(name).empty() && name[0] != '\0') << name;
  }
  EXPECT_EQ(layer_of("loss"), "loss");
  EXPECT_EQ(layer_of("_weight"), "_weight");
}

TEST(LayerName, MatchesAGradientWithItsParameter) {
  EXPECT_EQ(parameter_of_gradient("gradient/Net_fc1.weight"),
            parameter_of_weight("Net_fc1.weight"));
  EXPECT_EQ(parameter_of_gradient("gradients/dense/kernelGrad"),
            parameter_of_weight("dense/weights/dense/kernel:0"));
  EXPECT_EQ(parameter_of_gradient("gradients/dense/kernelGrad"),
            parameter_of_weight("weights/dense/kernel:0"));
  EXPECT_EQ(parameter_of_gradient("gradient/net_dense0_weight"),
            parameter_of_weight("net_dense0_weight"));
  EXPECT_EQ(parameter_of_weight("my_weights/x"), "my_weights/x");
  EXPECT_EQ(parameter_of_gradient(gradient_name("net_dense0_weight")),
            parameter_of_weight("net_dense0_weight"));
  EXPECT_EQ(parameter_of_gradient(variable_gradient_name("dense/kernel:0")),
            parameter_of_weight(weight_name("dense/kernel:0")));
}

}  // namespace
}  // namespace smdebug
