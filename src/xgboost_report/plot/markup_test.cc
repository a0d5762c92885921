#include "xgboost_report/plot/markup.h"

#include <string>
#include <vector>

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

TEST(Markup, LetsLongNamesBreakBetweenTheirParts) {
  EXPECT_EQ(wrappable("customer_age/mean"), "customer_<wbr>age/<wbr>mean");
  EXPECT_EQ(wrappable("two words"), "two words");
  EXPECT_EQ(wrappable("a&b_c"), "a&amp;b_<wbr>c");
}

TEST(Markup, KeepsNumbersWhole) {
  for (const char* number : {"1e-05", "-0.25", "2026-11-23", "0.1, 0.2"}) {
    EXPECT_EQ(wrappable(number), number);
  }
}

TEST(Markup, BreaksAWordThatIsWiderThanItsPlace) {
  EXPECT_EQ(wrappable(std::string(30, 'x')),
            std::string(24, 'x') + "<wbr>" + std::string(6, 'x'));
}

TEST(Markup, KeepsBothEndsOfALongName) {
  EXPECT_EQ(shortened_middle("sensor_reading_7", 6), "sen…g_7");
  EXPECT_EQ(shortened_middle("größe", 5), "größe");
  EXPECT_EQ(shortened_middle("größe", 3), "g…ße");
}

TEST(Markup, WrapsALabelAtItsParts) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped_lines("age", 10), Lines({"age"}));
  EXPECT_EQ(wrapped_lines("", 10), Lines({""}));
  EXPECT_EQ(wrapped_lines("customer_age_in_years", 10),
            Lines({"customer_", "age_in_", "years"}));
  EXPECT_EQ(wrapped_lines("mean radius", 8), Lines({"mean", "radius"}));
  EXPECT_EQ(wrapped_lines("abcdefghij", 4), Lines({"abcd", "efgh", "ij"}));
}

}  // namespace
}  // namespace smdebug
