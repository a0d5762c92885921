#include "xgboost_report/plot/markup.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Markup, IsNotMadeByNames) {
  EXPECT_EQ(escaped("<script>alert('a & \"b\"')</script>"),
            "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script"
            "&gt;");
}

TEST(Markup, ShowsBytesThatAreNoText) {
  EXPECT_EQ(escaped("a\x1b[2J\xff"), "a\\x1b[2J\\xff");
  EXPECT_EQ(escaped("größe"), "größe");
}

TEST(Markup, IsShortenedBetweenCharacters) {
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("größe", 3), "grö…");
  EXPECT_EQ(shortened("", 3), "");
  EXPECT_EQ(shortened("\xff\xff\xff", 2), "\xff\xff…");
}

}  // namespace
}  // namespace smdebug
