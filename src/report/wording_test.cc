#include "report/wording.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(ReportWording, GivesBytesAUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(12'400'000), "12.4 MB");
  EXPECT_EQ(bytes_text(999'999), "1.0 MB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "18.4 EB");
}

TEST(ReportWording, GivesSecondsAUnit) {
  EXPECT_EQ(seconds_text(0.0123), "12 ms");
  EXPECT_EQ(seconds_text(0.0994), "99 ms");
  EXPECT_EQ(seconds_text(0.0996), "0.0996 s");
  EXPECT_EQ(seconds_text(0.35), "0.35 s");
  EXPECT_EQ(seconds_text(59.97), "1 min 00 s");
  EXPECT_EQ(seconds_text(125.2), "2 min 05 s");
  EXPECT_EQ(seconds_text(7260), "2 h 01 min");
}

TEST(ReportWording, WritesShapesAsPythonDoes) {
  const std::int64_t shape[] = {64, 10};
  EXPECT_EQ(shape_text(shape), "(64, 10)");
  EXPECT_EQ(shape_text({}), "()");
}

TEST(ReportWording, WritesDates) {
  EXPECT_EQ(date_text(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(date_text(1795230444.9), "2026-11-21 03:07:24 UTC");
}

TEST(ReportWording, QuotesPaths) {
  EXPECT_EQ(python_string("/a \"b\"\\c"), R"("/a \"b\"\\c")");
}

}  // namespace
}  // namespace smdebug
