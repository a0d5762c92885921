#include "rules/measures/update_size.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

// The statistics of the gradient (0.5, -1, 0, 2).
TensorStatistics gradient() {
  TensorStatistics statistics;
  statistics.count = 4;
  statistics.zeros = 1;
  statistics.min = -1;
  statistics.max = 2;
  statistics.sum_abs = 3.5;
  statistics.sum_squares = 5.25;
  return statistics;
}

void expect_near_torch(std::string_view optimizer, double rate, double momentum,
                       double distance, double fall, double tolerance) {
  const auto size = update_size({optimizer, rate, momentum}, gradient());
  ASSERT_TRUE(size) << optimizer;
  EXPECT_NEAR(size->distance, distance, tolerance * distance) << optimizer;
  EXPECT_NEAR(size->fall, fall, tolerance * fall) << optimizer;
}

// torch 2.13 moved a parameter by this gradient, in float64: the root mean
// square of its change, and the sum of gradient times change.
TEST(UpdateSize, IsThatOfTheOptimizersOfTorch) {
  expect_near_torch("SGD", 0.1, 0, 0.11456439237389601, 0.525, 1e-12);
  // After 300 updates with this gradient.
  expect_near_torch("SGD", 0.1, 0.9, 1.14564392373896, 5.25, 1e-9);
  // The first update.
  for (const auto* name : {"Adam", "AdamW", "Adamax", "Adagrad"}) {
    expect_near_torch(name, 0.01, 0, 0.00866025393680809, 0.0349999997, 1e-6);
  }
  expect_near_torch("NAdam", 0.01, 0, 0.00914914078495504, 0.03697581237978198,
                    0.06);
  // After 5000 and 3000 updates.
  expect_near_torch("RAdam", 0.01, 0, 0.008511969497933649, 0.03440071527359834,
                    0.02);
  expect_near_torch("RMSprop", 0.01, 0, 0.008660253936809692,
                    0.034999999700005446, 1e-6);
}

TEST(UpdateSize, IsUnknownForOtherOptimizersAndBrokenGradients) {
  EXPECT_FALSE(update_size({"LBFGS", 1}, gradient()));
  EXPECT_FALSE(update_size({"MyAdam", 1}, gradient()));
  EXPECT_FALSE(update_size({"SGD", 1}, {}));
  TensorStatistics broken = gradient();
  broken.nan = 1;
  EXPECT_FALSE(update_size({"Adam", 1}, broken));
}

TEST(UpdateSize, HasAUsualRatePerOptimizer) {
  EXPECT_EQ(usual_rate({"Adam"}), 0.001);
  EXPECT_EQ(usual_rate({"SGD"}), 0.1);
  EXPECT_NEAR(*usual_rate({"SGD", 0, 0.9}), 0.01, 1e-12);
  EXPECT_FALSE(usual_rate({"LBFGS"}));
}

}  // namespace
}  // namespace smdebug
