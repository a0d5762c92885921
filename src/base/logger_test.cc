#include "smdebug/base/logger.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(DefaultLogger, WritesLinesOfItsLevelAndAboveToStandardError) {
  setenv("SMDEBUG_LOG_LEVEL", "Warning", 1);
  testing::internal::CaptureStderr();
  default_logger().info("unseen");
  default_logger().warning("100 % {} seen");
  default_logger().error("seen");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "smdebug: warning: 100 % {} seen\nsmdebug: error: seen\n");
}

}  // namespace
}  // namespace smdebug
