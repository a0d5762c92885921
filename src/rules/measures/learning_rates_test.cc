#include "rules/measures/learning_rates.h"

#include <functional>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

void add_rates(LearningRates& rates, std::string_view series, Step first,
               Step end, const std::function<double(Step)>& rate_at) {
  std::vector<ScalarSample> samples;
  for (Step step = first; step < end; ++step) {
    samples.push_back({{step, Mode::train, step}, rate_at(step)});
  }
  rates.add({series, samples});
}

TEST(LearningRates, AreThoseThatHeldAtAStep) {
  LearningRates rates;
  add_rates(rates, "learning_rate/SGD/0", 2, 30,
            [](Step step) { return step < 20 ? 0.1 : 0.001; });
  EXPECT_FALSE(rates.at(1));
  EXPECT_EQ(rates.at(2)->now, 0.1);
  EXPECT_EQ(rates.at(19)->now, 0.1);
  EXPECT_EQ(rates.at(20)->now, 0.001);
  EXPECT_EQ(rates.at(1000)->now, 0.001);
  EXPECT_EQ(rates.at(1000)->highest, 0.1);
  EXPECT_EQ(rates.at(1000)->optimizer, "SGD");
}

TEST(LearningRates, AreKnownForEachGroup) {
  LearningRates rates;
  add_rates(rates, "learning_rate/Adam/0", 0, 5, [](Step) { return 1e-3; });
  add_rates(rates, "learning_rate/Adam/1", 0, 5, [](Step) { return 1e-5; });
  EXPECT_EQ(rates.of_group("Adam", 0, 3), 1e-3);
  EXPECT_EQ(rates.of_group("Adam", 1, 3), 1e-5);
  EXPECT_FALSE(rates.of_group("Adam", 2, 3));
  EXPECT_FALSE(rates.of_group("SGD", 0, 3));
}

TEST(LearningRates, RiseInAWarmUp) {
  LearningRates rates;
  add_rates(rates, "learning_rate/Adam/0", 0, 100,
            [](Step step) { return 1e-6 * (double(step) + 1); });
  EXPECT_DOUBLE_EQ(rates.at(9)->now, 1e-5);
  EXPECT_DOUBLE_EQ(rates.at(9)->highest, 1e-5);
}

TEST(LearningRates, AreTheHighestOfAllGroups) {
  LearningRates rates;
  add_rates(rates, "learning_rate/AdamW_1/0", 0, 5, [](Step) { return 1e-5; });
  add_rates(rates, "learning_rate/AdamW_1/1", 0, 5, [](Step) { return 1e-3; });
  add_rates(rates, "loss_output_0", 0, 5, [](Step) { return 7; });
  EXPECT_EQ(rates.at(4)->now, 1e-3);
  EXPECT_EQ(rates.at(4)->optimizer, "AdamW_1");
}

TEST(LearningRates, AreUnknownBeyondTheChangesThatAreKept) {
  LearningRates rates;
  add_rates(rates, "learning_rate/SGD/0", 0, 5000,
            [](Step step) { return 1.0 / (double(step) + 1); });
  EXPECT_DOUBLE_EQ(rates.at(4000)->now, 1.0 / 4001);
  EXPECT_FALSE(rates.at(4999));
}

}  // namespace
}  // namespace smdebug
