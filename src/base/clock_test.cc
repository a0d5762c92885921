#include "smdebug/base/clock.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(UtcTime, IsWrittenByThePattern) {
  EXPECT_EQ(utc_text(1440938160.9), "2015-08-30T12:36:00Z");
  EXPECT_EQ(utc_text(1440938160, "%Y%m%dT%H%M%SZ"), "20150830T123600Z");
  EXPECT_EQ(utc_text(1440938160, "%a, %d %b %Y %H:%M:%S +0000"),
            "Sun, 30 Aug 2015 12:36:00 +0000");
}

TEST(UtcTime, IsTheNearestWhereThereIsNoneToWrite) {
  EXPECT_EQ(utc_text(-1), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1e300), "9999-12-31T23:59:59Z");
  EXPECT_EQ(utc_text(std::numeric_limits<double>::quiet_NaN()),
            "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace smdebug
