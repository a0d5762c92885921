#include "format/claim.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Claim, SaysWhoHoldsTheRun) {
  EXPECT_EQ(
      write_claim({"node \"1\"", 4711, 123456789012}),
      R"({"host": "node \"1\"", "pid": 4711, "start_ticks": 123456789012})");
}

TEST(Claim, ComesBack) {
  const auto claim = parse_claim(write_claim({"node", 4711, 42}));
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->host, "node");
  EXPECT_EQ(claim->process_id, 4711);
  EXPECT_EQ(claim->process_start_ticks, 42u);
}

TEST(Claim, OfTheOriginalOrTornNamesNobody) {
  for (const char* text : {"", "{", "[]", "{}", R"({"host": "a", "pid": 1})",
                           R"({"host": 1, "pid": 1, "start_ticks": 1})",
                           R"({"host": "a", "pid": 1, "start_ticks": -1})"}) {
    EXPECT_FALSE(parse_claim(text)) << text;
  }
}

}  // namespace
}  // namespace smdebug
