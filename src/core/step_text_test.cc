#include "core/step_text.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(StepText, HasTheStepOfTheMode) {
  EXPECT_EQ(step_text({40, Mode::train, 12}), "step 40 (TRAIN step 12)");
  EXPECT_EQ(step_number_text({40, Mode::train, 12}), "40 (TRAIN 12)");
}

TEST(StepText, HasOneNumberInARunWithoutModes) {
  EXPECT_EQ(step_text({40, Mode::global, 40}), "step 40");
  EXPECT_EQ(step_number_text({40, Mode::global, 40}), "40");
}

TEST(StepText, LeavesOutANumberThatIsNotKnown) {
  EXPECT_EQ(step_text({-1, Mode::eval, 3}), "EVAL step 3");
  EXPECT_EQ(step_text({40, Mode::eval, -1}), "step 40");
}

}  // namespace
}  // namespace smdebug
