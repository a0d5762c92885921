#include "rules/measures/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/step_builder_testing.h"

namespace smdebug {
namespace {

using testing::Optional;

// One weight with elements of -1 and 1, whose gradient has those of -2 and 2.
std::vector<InitialWeight> measured(const std::string& tensor,
                                    const std::string& gradient,
                                    std::vector<std::int64_t> shape,
                                    const RunFacts* facts = nullptr) {
  StepBuilder step(0);
  step.with_statistics(tensor, even_statistics(1)).of_shape(std::move(shape));
  step.with_statistics(gradient, even_statistics(2));
  InitialWeights weights;
  EXPECT_TRUE(weights.add_weight(step.view().tensors[0]).ok());
  EXPECT_FALSE(weights.are_complete());
  EXPECT_TRUE(weights.add_gradient(step.view().tensors[1]).ok());
  EXPECT_TRUE(weights.are_complete());
  return weights.layers(facts);
}

RunFacts with_module(const std::string& path, const std::string& kind) {
  RunFacts facts;
  facts.modules = {{"Net", "Net", true, {}}, {path, kind, true, {}}};
  return facts;
}

std::int64_t inputs_in_pytorch(const std::string& kind,
                               std::vector<std::int64_t> shape) {
  const RunFacts facts = with_module("body.fc_1", kind);
  const auto layers =
      measured("Net_body.fc_1.weight", "gradient/Net_body.fc_1.weight",
               std::move(shape), &facts);
  return layers.size() == 1 && layers[0].scale ? layers[0].inputs : -1;
}

std::int64_t inputs_in_keras(const std::string& kind,
                             std::vector<std::int64_t> shape) {
  const RunFacts facts = with_module("conv", kind);
  const auto layers =
      measured("conv/weights/conv/kernel:0", "gradients/conv/kernelGrad",
               std::move(shape), &facts);
  return layers.size() == 1 && layers[0].scale ? layers[0].inputs : -1;
}

TEST(InitialWeights, HaveTheScaleOfTheInputsOfAUnit) {
  const auto layers =
      measured("Net_fc.weight", "gradient/Net_fc.weight", {8, 16});
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].inputs, 16);
  EXPECT_THAT(layers[0].scale, Optional(4.0));
  EXPECT_DOUBLE_EQ(layers[0].sensitivity, 20);  // 10 elements: 10 * 1 * 2
  EXPECT_FALSE(layers[0].has_zero_gradient);
}

TEST(InitialWeights, CountTheInputsOfEachKindOfLayer) {
  EXPECT_EQ(inputs_in_pytorch("Linear", {8, 16}), 16);
  EXPECT_EQ(inputs_in_pytorch("Linear", {1, 16}), 16);
  EXPECT_EQ(inputs_in_pytorch("Conv2d", {8, 4, 3, 3}), 36);
  EXPECT_EQ(inputs_in_pytorch("ConvTranspose2d", {8, 4, 3, 3}), 72);
  EXPECT_EQ(inputs_in_pytorch("Conv1D", {16, 48}), 16);  // of Transformers
  EXPECT_EQ(inputs_in_keras("Dense", {16, 8}), 16);
  EXPECT_EQ(inputs_in_keras("Conv1D", {3, 16, 8}), 48);
  EXPECT_EQ(inputs_in_keras("Conv2D", {3, 3, 4, 8}), 36);
  EXPECT_EQ(inputs_in_keras("Conv2DTranspose", {3, 3, 4, 8}), 72);
  const auto mxnet =
      measured("net_conv0_weight", "gradient/net_conv0_weight", {8, 4, 3, 3});
  ASSERT_EQ(mxnet.size(), 1u);
  EXPECT_EQ(mxnet[0].inputs, 36);
}

TEST(InitialWeights, HaveNoScaleInLayersThatMayMultiplyByAFactor) {
  const RunFacts facts = with_module("fc", "EqualizedLinear");
  const auto layers =
      measured("Net_fc.weight", "gradient/Net_fc.weight", {8, 16}, &facts);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_FALSE(layers[0].scale);
}

TEST(InitialWeights, HaveNoScaleIfTheyLookTrained) {
  StepBuilder step(0);
  TensorStatistics statistics = even_statistics(1);
  statistics.count = 1000;
  statistics.sum_squares = 1000;
  statistics.max = 6;  // of as many normal ones, the largest is 3.7
  step.with_statistics("Net_fc.weight", statistics).of_shape({50, 20});
  step.with_statistics("gradient/Net_fc.weight", statistics);
  InitialWeights weights;
  EXPECT_TRUE(weights.add_weight(step.view().tensors[0]).ok());
  EXPECT_TRUE(weights.add_gradient(step.view().tensors[1]).ok());
  ASSERT_EQ(weights.layers(nullptr).size(), 1u);
  EXPECT_FALSE(weights.layers(nullptr)[0].scale);
}

TEST(InitialWeights, AreNeitherVectorsNorEmbeddingsNorNormalizations) {
  EXPECT_TRUE(measured("Net_fc.weight", "gradient/Net_fc.weight", {8}).empty());
  EXPECT_TRUE(measured("net_embedding0_weight",
                       "gradient/net_embedding0_weight", {50, 8})
                  .empty());
  EXPECT_EQ(inputs_in_pytorch("Embedding", {50, 8}), -1);
  // Over the last three dimensions of images.
  EXPECT_EQ(inputs_in_pytorch("LayerNorm", {4, 8, 8}), -1);
  // A factor for each channel.
  const RunFacts facts = with_module("body.fc_1", "Factor");
  EXPECT_TRUE(measured("Net_body.fc_1.weight", "gradient/Net_body.fc_1.weight",
                       {8, 1, 1}, &facts)
                  .empty());
}

TEST(InitialWeights, AreOfNoLayerWithoutAGradient) {
  EXPECT_TRUE(
      measured("Net_fc.weight", "gradient/Net_other.weight", {8, 16}).empty());
}

TEST(InitialWeights, TellWhetherAModelHasNormalizations) {
  EXPECT_FALSE(has_normalization(RunFacts()));
  EXPECT_THAT(has_normalization(with_module("fc", "Linear")), Optional(false));
  EXPECT_THAT(has_normalization(with_module("n", "LlamaRMSNorm")),
              Optional(true));
}

}  // namespace
}  // namespace smdebug
