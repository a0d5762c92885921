#include "base/plural.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Plural, IsUsedForAllCountsButOne) {
  EXPECT_EQ(count_text(1, "step"), "1 step");
  EXPECT_EQ(count_text(2, "step"), "2 steps");
  EXPECT_EQ(count_text(0, "step"), "0 steps");
}

}  // namespace
}  // namespace smdebug
