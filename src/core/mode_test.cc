#include "smdebug/core/mode.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Mode, HasTheNumbersThatAreOnDisk) {
  EXPECT_EQ(static_cast<int>(Mode::train), 1);
  EXPECT_EQ(static_cast<int>(Mode::eval), 2);
  EXPECT_EQ(static_cast<int>(Mode::predict), 3);
  EXPECT_EQ(static_cast<int>(Mode::global), 4);
}

TEST(Mode, HasTheNamesThatAreOnDisk) {
  EXPECT_EQ(mode_name(Mode::train), "TRAIN");
  EXPECT_EQ(mode_name(Mode::eval), "EVAL");
  EXPECT_EQ(mode_name(Mode::predict), "PREDICT");
  EXPECT_EQ(mode_name(Mode::global), "GLOBAL");
}

TEST(Mode, IsFoundInUpperAndLowerCase) {
  EXPECT_EQ(find_mode("EVAL"), Mode::eval);
  EXPECT_EQ(find_mode("predict"), Mode::predict);
  EXPECT_EQ(find_mode("Train"), Mode::train);
}

TEST(Mode, IsNoneForAnUnknownName) {
  EXPECT_EQ(find_mode("TRAINING"), std::nullopt);
  EXPECT_EQ(find_mode("TRAI"), std::nullopt);
  EXPECT_EQ(find_mode(""), std::nullopt);
}

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
