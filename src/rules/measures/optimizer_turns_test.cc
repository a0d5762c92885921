#include "rules/measures/optimizer_turns.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

// Adds the steps below 100 in which an optimizer acts.
void add(OptimizerTurns& turns, const std::string& optimizer,
         const std::function<bool(Step)>& acts) {
  std::vector<ScalarSample> samples;
  for (Step step = 0; step < 100; ++step)
    if (acts(step)) samples.push_back({{step, Mode::train, step}, 0.1});
  turns.add({"learning_rate/" + optimizer, samples});
}

TEST(OptimizerTurns, AreTakenByTheOptimizersOfAGenerator) {
  OptimizerTurns turns;
  add(turns, "Adam/0", [](Step step) { return step % 2 == 0; });
  add(turns, "Adam_1/0", [](Step step) { return step % 2 == 1; });
  EXPECT_TRUE(turns.alternate(99));
}

TEST(OptimizerTurns, AreTakenIfTheOtherOneActsMoreOften) {
  OptimizerTurns turns;
  add(turns, "RMSprop/0", [](Step step) { return step % 6 != 5; });
  add(turns, "RMSprop_1/0", [](Step step) { return step % 6 == 5; });
  EXPECT_TRUE(turns.alternate(99));
}

TEST(OptimizerTurns, AreNotTakenByOne) {
  OptimizerTurns turns;
  add(turns, "Adam/0", [](Step) { return true; });
  add(turns, "Adam/1", [](Step) { return true; });
  EXPECT_FALSE(turns.alternate(99));
}

TEST(OptimizerTurns, AreNotTakenInTheSameStep) {
  OptimizerTurns turns;
  add(turns, "Adam/0", [](Step) { return true; });
  add(turns, "SparseAdam/0", [](Step) { return true; });
  EXPECT_FALSE(turns.alternate(99));
}

TEST(OptimizerTurns, AreNotTakenByOneThatFollowsAnother) {
  OptimizerTurns turns;
  add(turns, "Adam/0", [](Step step) { return step < 40; });
  add(turns, "SGD/0", [](Step step) { return step >= 40; });
  EXPECT_FALSE(turns.alternate(99));
}

TEST(OptimizerTurns, AreThoseUntilTheStep) {
  OptimizerTurns turns;
  add(turns, "Adam/0", [](Step step) { return step < 50 || step % 2 == 0; });
  add(turns, "Adam_1/0", [](Step step) { return step > 50 && step % 2 == 1; });
  EXPECT_FALSE(turns.alternate(50));
  EXPECT_TRUE(turns.alternate(99));
}

}  // namespace
}  // namespace smdebug
