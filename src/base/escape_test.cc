#include "smdebug/base/escape.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text :
       {"", "layer.0/weight:0", "Größe", "重み", "👍", "\\n"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[2Ja\x07"), "\\x1b[2Ja\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  // U+009B is one character that means ESC [.
  EXPECT_EQ(printable("\u009b2J"), "\\x9b2J");
  EXPECT_EQ(printable("a\u202eb"), "a\\u202eb");
}

TEST(Printable, MakesOneLine) {
  EXPECT_EQ(printable("a\nb\r\tc\u2028d"), "a\\nb\\r\\tc\\u2028d");
  EXPECT_EQ(printable_lines("a\nb\rc"), "a\nb\\rc");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"
                      "a"),
            "\\xffa");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace smdebug
