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

}  // namespace
}  // namespace smdebug
