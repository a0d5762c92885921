#include "rules/measures/adjacent_layers.h"

#include <deque>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::StrEq;

class NeighboursTest : public testing::Test {
 protected:
  void see(std::string_view name, double value,
           std::string_view worker = "worker_0") {
    Observation& observation = observations_.emplace_back();
    observation.name = name;
    observation.worker = worker;
    judged_.push_back({&observation, value});
  }

  std::string tell(const std::string& offender,
                   const std::string& worker = "worker_0") {
    evidence_ = {};
    evidence_.tensor = offender;
    evidence_.worker = worker;
    return describe_adjacent_layers(
        judged_, evidence_, [](const JudgedTensor& one) {
          return fmt::format("a mean of {:g}", one.value);
        });
  }

  std::deque<Observation> observations_;
  std::vector<JudgedTensor> judged_;
  Evidence evidence_;
};

TEST_F(NeighboursTest, AreTheLayersBeforeAndAfter) {
  see("gradient/Net_fc1.weight", 3e-4);
  see("gradient/Net_fc2.weight", 1e-9);
  see("gradient/Net_fc3.weight", 2e-9);
  EXPECT_THAT(tell("gradient/Net_fc2.weight"),
              StrEq("; in the adjacent layers, gradient/Net_fc1.weight has a "
                    "mean of 0.0003 and gradient/Net_fc3.weight has a mean of "
                    "2e-09"));
  ASSERT_TRUE(evidence_.before && evidence_.after);
  EXPECT_EQ(evidence_.before->tensor, "gradient/Net_fc1.weight");
  EXPECT_EQ(evidence_.before->value, 3e-4);
  EXPECT_EQ(evidence_.after->tensor, "gradient/Net_fc3.weight");
  EXPECT_EQ(evidence_.after->value, 2e-9);
}

TEST_F(NeighboursTest, OfALayerWithSeveralTensorsIsTheOneOfTheSameKind) {
  see("Net_fc1.weight", 1);
  see("Net_fc1.bias", 2);
  see("Net_fc2.weight", 3);
  see("Net_fc2.bias", 4);
  see("Net_fc3.bias", 5);
  see("Net_fc3.weight", 6);
  EXPECT_THAT(tell("Net_fc2.weight"),
              StrEq("; in the adjacent layers, Net_fc1.weight has a mean of 1 "
                    "and Net_fc3.weight has a mean of 6"));
  EXPECT_THAT(tell("Net_fc2.bias"),
              StrEq("; in the adjacent layers, Net_fc1.bias has a mean of 2 "
                    "and Net_fc3.bias has a mean of 5"));
}

TEST_F(NeighboursTest, OfAnotherKindIsBetterThanNone) {
  see("Net_norm.bias", 1);
  see("Net_fc.weight", 2);
  EXPECT_THAT(tell("Net_fc.weight"),
              StrEq("; in the adjacent layer, Net_norm.bias has a mean of 1"));
  EXPECT_FALSE(evidence_.after);
}

TEST_F(NeighboursTest, FirstLayerHasOnlyOneAfterIt) {
  see("conv1_output_0", 90);
  see("conv2_output_0", 10);
  EXPECT_THAT(
      tell("conv1_output_0"),
      StrEq("; in the adjacent layer, conv2_output_0 has a mean of 10"));
  EXPECT_FALSE(evidence_.before);
}

// As at the end of a forward pass.
TEST_F(NeighboursTest, AreNamedOnceIfBothAreOfOneLayer) {
  see("fc2_output_0", 0);
  see("loss_output_0", 1);
  see("gradient/fc2.bias", 2);
  EXPECT_THAT(tell("loss_output_0"),
              StrEq("; in the adjacent layer, fc2_output_0 has a mean of 0"));
  ASSERT_TRUE(evidence_.before && evidence_.after);
}

TEST_F(NeighboursTest, OfAnotherWorkerAreNone) {
  see("fc1.weight", 1, "worker_0");
  see("fc2.weight", 2, "worker_1");
  see("fc3.weight", 3, "worker_0");
  EXPECT_THAT(tell("fc1.weight"),
              StrEq("; in the adjacent layer, fc3.weight has a mean of 3"));
  EXPECT_THAT(tell("fc2.weight", "worker_1"), StrEq(""));
}

TEST_F(NeighboursTest, ATensorThatWasNotJudgedHasNone) {
  see("fc1.weight", 1);
  EXPECT_THAT(tell("fc2.weight"), StrEq(""));
}

}  // namespace
}  // namespace smdebug
