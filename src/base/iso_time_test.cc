#include "base/iso_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/base/clock.h"

namespace smdebug {
namespace {

using testing::DoubleNear;
using testing::Optional;

// Expected values are those of `date -u -d TEXT +%s`.
TEST(IsoTime, IsReadInEachForm) {
  for (const char* text :
       {"2015-08-30T12:36:00Z", "2015-08-30T12:36:00UTC", "2015-08-30T12:36:00",
        "2015-08-30 12:36:00Z", "2015-08-30T14:36:00+02:00",
        "2015-08-30T07:06:00-0530"}) {
    EXPECT_THAT(find_iso_seconds(text), Optional(1440938160.0)) << text;
  }
  EXPECT_THAT(find_iso_seconds("1970-01-01T00:00:00Z"), Optional(0.0));
  EXPECT_THAT(find_iso_seconds("2024-02-29T23:59:59Z"), Optional(1709251199.0));
  EXPECT_THAT(find_iso_seconds("2015-08-30T12:36:00.250Z"),
              Optional(DoubleNear(1440938160.25, 1e-6)));
}

TEST(IsoTime, IsTheInverseOfWhatTheClockWrites) {
  for (double seconds = 1; seconds < 8e9; seconds = seconds * 3 + 7) {
    EXPECT_THAT(find_iso_seconds(utc_text(seconds)), Optional(seconds));
  }
}

TEST(IsoTime, IsNotFoundInOtherTexts) {
  for (const char* text :
       {"", "later", "2015-08-30", "2015-08-30T12:36Z", "2015-08-30T12:36:00X",
        "2015-13-30T12:36:00Z", "2015-02-30T12:36:00Z", "2015-08-30T24:36:00Z",
        "+015-08-30T12:36:00Z", "2015-08-30T12:36:00.Z",
        "2015-08-30T12:36:00+2", "2015-08-30T12:36:00Z ", "1440938160"}) {
    EXPECT_EQ(find_iso_seconds(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace smdebug
