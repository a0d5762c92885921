#include "base/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(ShellWords, AreSeparatedByBlanks) {
  EXPECT_THAT(find_shell_words("  a\tb \r\n c  "),
              Optional(ElementsAre("a", "b", "c")));
  EXPECT_THAT(find_shell_words(" \n"), Optional(IsEmpty()));
}

TEST(ShellWords, KeepWhatIsQuoted) {
  EXPECT_THAT(find_shell_words(R"("a b"c 'd "e' "")"),
              Optional(ElementsAre("a bc", "d \"e", "")));
}

// As Python's shlex.split prints them.
TEST(ShellWords, ReadBackslashesAsAShellDoes) {
  EXPECT_THAT(find_shell_words(R"(a\ b \"c \\)"),
              Optional(ElementsAre("a b", "\"c", "\\")));
  EXPECT_THAT(find_shell_words(R"("a\"b" "a\\b" "a\nb" 'a\nb')"),
              Optional(ElementsAre("a\"b", "a\\b", "a\\nb", "a\\nb")));
}

TEST(ShellWords, ExpandNothing) {
  EXPECT_THAT(find_shell_words("$HOME ~/x *.txt a|b #c"),
              Optional(ElementsAre("$HOME", "~/x", "*.txt", "a|b", "#c")));
}

TEST(ShellWords, AreNotFoundInWhatHasNoEnd) {
  EXPECT_EQ(find_shell_words("a 'b"), std::nullopt);
  EXPECT_EQ(find_shell_words("a \"b\\\""), std::nullopt);
  EXPECT_EQ(find_shell_words("a\\"), std::nullopt);
}

}  // namespace
}  // namespace smdebug
