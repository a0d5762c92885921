#include "report/text_table.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(TextTable, LaysTextToTheLeftAndNumbersToTheRight) {
  TextTable table({"name", ">steps"});
  table.add({"a", "7"});
  table.add({"longer", "1234567"});
  EXPECT_EQ(table.text(),
            "name      steps\n"
            "a             7\n"
            "longer  1234567\n");
}

TEST(TextTable, PrintsNoHeadingsWhereThereAreNone) {
  TextTable table({"", ""});
  table.add({"a", "b"});
  EXPECT_EQ(table.text("  "), "  a  b\n");
}

TEST(TextTable, LeavesNoBlanksAtTheEndOfALine) {
  TextTable table({"", ""});
  table.add({"a", ""});
  table.add({"b", "c"});
  EXPECT_EQ(table.text(), "a\nb  c\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({"", ""});
  table.add({"gr\xc3\xb6\xc3\x9f\x65r", "x"});  // six characters
  table.add({"123456", "y"});
  EXPECT_EQ(table.text(), "gr\xc3\xb6\xc3\x9f\x65r  x\n123456  y\n");
}

}  // namespace
}  // namespace smdebug
