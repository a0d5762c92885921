#include "base/words.h"

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

}  // namespace
}  // namespace smdebug
