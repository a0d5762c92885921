#include "base/strings.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, AreTrimmedAndSplitAtCommas) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_THAT(split_list(" a, b ,,c,"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_list(" , "), IsEmpty());
}

TEST(Words, AreBooleansInAnyCase) {
  for (const char* word :
       {"true", "True", " TRUE ", "t", "yes", "Y", "on", "1"})
    EXPECT_EQ(find_boolean(word), true) << word;
  for (const char* word : {"false", "False", "F", "no", "n", "OFF", "0"})
    EXPECT_EQ(find_boolean(word), false) << word;
  for (const char* word : {"", "maybe", "2", "truee", "nan"})
    EXPECT_EQ(find_boolean(word), std::nullopt) << word;
}

TEST(Words, AreNumbersAsAWhole) {
  EXPECT_EQ(find_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(find_number<double>("1e3"), 1000.0);
  for (const char* word : {"", " 1", "1 ", "1x", "+1", "9223372036854775808"})
    EXPECT_EQ(find_number<std::int64_t>(word), std::nullopt) << word;
}

TEST(Words, OfOneLineHoldNoControlCharacter) {
  EXPECT_TRUE(is_one_line("a b \xc3\xa9"));
  EXPECT_TRUE(is_one_line(""));
  EXPECT_FALSE(is_one_line("a\r\nb"));
  EXPECT_FALSE(is_one_line("a\x7f"));
}

TEST(Plural, IsUsedForAllCountsButOne) {
  EXPECT_EQ(count_text(1, "step"), "1 step");
  EXPECT_EQ(count_text(2, "step"), "2 steps");
  EXPECT_EQ(count_text(0, "step"), "0 steps");
}

TEST(NamesText, NamesEachOfTheFirstOnceAndCountsTheRest) {
  const std::vector<std::string> names = {"a", "b", "a", "c", "d", "d"};
  EXPECT_EQ(names_text(names), "a, b, c, and 1 more");
  EXPECT_EQ(names_text(names, 4), "a, b, c, d");
  EXPECT_EQ(names_text({}), "");
}

TEST(IsUtf8, TakesTheLargestAndSmallestOfEachLength) {
  EXPECT_TRUE(is_utf8("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"));
  EXPECT_TRUE(is_utf8("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
  EXPECT_FALSE(is_utf8("a\x80"));
  EXPECT_FALSE(is_utf8("\xe0\x9f\xbf"));
}

}  // namespace
}  // namespace smdebug
