#include "rules/engine/step_set.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(StepSet, AgreesWithASetOfTheStandardLibraryInAnyOrder) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::uniform_int_distribution<Step> any(0, 1 + round);
    StepSet steps;
    std::set<Step> expected;
    for (int i = 0; i < 200; ++i) {
      const Step step = any(random);
      EXPECT_EQ(steps.add(step), expected.insert(step).second) << step;
    }
  }
}

}  // namespace
}  // namespace smdebug
