#include "rules/measures/untrained_weights.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TensorStatistics weights_with(double min, double max, double sum_squares,
                              std::uint64_t count = 2048) {
  TensorStatistics statistics;
  statistics.count = count;
  statistics.min = min;
  statistics.max = max;
  statistics.sum_squares = sum_squares;
  return statistics;
}

// Measured with torch 2.13.
TEST(UntrainedWeights, AreThoseThatTorchInitializes) {
  // nn.Linear(64, 32)
  EXPECT_EQ(look_untrained(weights_with(-0.12498, 0.12496, 10.8145)), true);
  // nn.init.normal_(std=0.02)
  EXPECT_EQ(look_untrained(weights_with(-0.08187, 0.06195, 0.76725)), true);
  // nn.Linear(32, 10), whose largest weight is 0.17678
  EXPECT_EQ(look_untrained(weights_with(-0.17678, 0.1767, 3.1, 320)), true);
  // nn.init.zeros_ and nn.init.ones_
  EXPECT_EQ(look_untrained(weights_with(0, 0, 0)), true);
  EXPECT_EQ(look_untrained(weights_with(1, 1, 2048)), true);
}

TEST(UntrainedWeights, HaveNoTails) {
  // Uniform weights of which training has moved a few: 2.4 times their root
  // mean square, of normal ones with that number it is 3.9.
  EXPECT_EQ(look_untrained(weights_with(-0.17, 0.17, 10.8)), false);
  EXPECT_EQ(look_untrained(weights_with(-0.9, 0.3, 10.8)), false);
}

TEST(UntrainedWeights, AreUnknownIfThereAreFew) {
  EXPECT_FALSE(look_untrained(weights_with(-0.1, 0.1, 0.3, 100)));
  TensorStatistics broken = weights_with(-0.1, 0.1, 0.3);
  broken.positive_inf = 1;
  EXPECT_FALSE(look_untrained(broken));
}

TEST(UntrainedWeights, HaveNoTailsAlsoIfTheyAreTruncated) {
  // tf.keras.initializers.HeNormal cuts off at twice the standard deviation.
  EXPECT_FALSE(have_tails(weights_with(-2, 2, 0.774 * 2048)));
  EXPECT_FALSE(have_tails(weights_with(-0.17, 0.17, 10.8)));
  EXPECT_FALSE(have_tails(weights_with(0.5, 0.5, 512)));
  EXPECT_TRUE(have_tails(weights_with(-0.9, 0.3, 10.8)));
  EXPECT_FALSE(have_tails(weights_with(-0.9, 0.3, 10.8, 100)));
}

}  // namespace
}  // namespace smdebug
