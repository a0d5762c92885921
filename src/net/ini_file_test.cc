#include "net/ini_file.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

testing::Matcher<const IniSection&> section(
    const std::string& name, const testing::Matcher<IniValues>& values) {
  return AllOf(Field(&IniSection::name, name),
               Field(&IniSection::values, values));
}

TEST(IniFile, HasSectionsOfKeysAndValues) {
  EXPECT_THAT(
      parse_ini("[default]\nRegion = eu-west-1\nk:a = b\n\n[profile a b]\n"),
      IsOkAndHolds(ElementsAre(
          section("default",
                  ElementsAre(Pair("k", "a = b"), Pair("region", "eu-west-1"))),
          section("profile a b", IsEmpty()))));
}

TEST(IniFile, MayComeFromWindows) {
  EXPECT_THAT(
      parse_ini("\xef\xbb\xbf[a]\r\nx = 1\r\n\r\n[b]\r\ny=2"),
      IsOkAndHolds(ElementsAre(section("a", ElementsAre(Pair("x", "1"))),
                               section("b", ElementsAre(Pair("y", "2"))))));
}

TEST(IniFile, HasCommentsOnLinesOfTheirOwn) {
  EXPECT_THAT(parse_ini("# c\n[a] # c\nx = 1 # no comment\n ; c\n#y = 2\n"),
              IsOkAndHolds(ElementsAre(
                  section("a", ElementsAre(Pair("x", "1 # no comment"))))));
}

// The nested keys of AWS: they are part of the value of "s3".
TEST(IniFile, ContinuesAValueOnIndentedLines) {
  EXPECT_THAT(
      parse_ini("[a]\ns3 =\n  role_arn = nested\n\n  # c\n  y = 2\nz = 3\n"),
      IsOkAndHolds(ElementsAre(
          section("a", ElementsAre(Pair("s3", "\nrole_arn = nested\n\ny = 2"),
                                   Pair("z", "3"))))));
}

TEST(IniFile, MayBeIndentedAsAWhole) {
  EXPECT_THAT(parse_ini("  [a]\n  x = 1\n  y = 2\n [b]\n  z = 3\n"),
              IsOkAndHolds(ElementsAre(
                  section("a", ElementsAre(Pair("x", "1"), Pair("y", "2"))),
                  section("b", ElementsAre(Pair("z", "3"))))));
}

TEST(IniFile, MayBeEmpty) {
  EXPECT_THAT(parse_ini(""), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(parse_ini("\n# c\n"), IsOkAndHolds(IsEmpty()));
}

TEST(IniFile, NamesTheLineThatIsWrongWithoutItsText) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"secret = 1\n[a]\n", "line 1: text before the first [section]"},
      {"[a]\n\nsecret\n", "line 3: neither [section] nor key = value"},
      {"[a]\n= secret\n", "line 2: neither [section] nor key = value"},
      {"[a]\n[]\n", "line 2: neither [section] nor key = value"},
      {"[a]\nX = 1\nx = secret\n",
       "line 3: a key that occurred in this section"},
      {"[secret]\n[b]\n[secret]\n", "line 3: a section that occurred before"}};
  for (const auto& [text, message] : kWrong) {
    EXPECT_THAT(parse_ini(text),
                FailsWith(Error::Code::corrupt,
                          AllOf(HasSubstr(message), Not(HasSubstr("secret")))))
        << text;
  }
}

TEST(IniFile, IsReadOrRefusedWhateverItsBytes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::string_view kBytes = "[]=:#; \t\r\nab\xff";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (unsigned n = random() % 40; n > 0; --n) {
      text += kBytes[random() % kBytes.size()];
    }
    const auto sections = parse_ini(text);
    if (!sections) {
      EXPECT_THAT(sections, FailsWith(Error::Code::corrupt, HasSubstr("line")));
      continue;
    }
    for (const IniSection& each : *sections) {
      EXPECT_NE(each.name, "");
      EXPECT_FALSE(each.values.contains(""));
    }
  }
}

}  // namespace
}  // namespace smdebug
