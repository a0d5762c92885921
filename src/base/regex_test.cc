#include "base/regex.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/result_matchers_testing.h"
#include "tests/support/source_dir_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

Regex compiled(std::string_view pattern) {
  auto regex = Regex::compile(pattern);
  EXPECT_THAT(regex, IsOk());
  return *std::move(regex);
}

// The expected answers come from Python: tools/make_regex_cases.py.
TEST(Regex, AnswersAsPythonDoes) {
  std::ifstream file(SMDEBUG_SOURCE_DIR "/src/base/testdata/regex_cases.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto cases = Json::parse(text);
  ASSERT_THAT(cases, IsOk());
  ASSERT_EQ(cases->as_array()->size(), 600u);
  for (const Json& one : *cases->as_array()) {
    const Regex regex = compiled(*one.string_at("pattern"));
    for (const auto& [list, expected] :
         {std::pair("found", true), std::pair("not_found", false)}) {
      for (const Json& subject : **one.array_at(list)) {
        EXPECT_THAT(regex.search(*subject.as_string()), IsOkAndHolds(expected))
            << "pattern " << regex.pattern() << ", subject "
            << subject.dump(JsonStyle::spaced);
      }
    }
  }
}

TEST(Regex, FindsInASubjectThatIsNotUtf8) {
  EXPECT_THAT(compiled("b").search("a\xff\xfe"
                                   "b"),
              IsOkAndHolds(true));
  EXPECT_THAT(compiled("c").search("\xc3"), IsOkAndHolds(false));
}

TEST(Regex, FindsNulBytes) {
  EXPECT_THAT(compiled("b$").search(std::string_view("a\0b", 3)),
              IsOkAndHolds(true));
}

TEST(Regex, KeepsThePatternAsWritten) {
  EXPECT_EQ(compiled("a\\Z").pattern(), "a\\Z");
}

TEST(Regex, RefusesABadPatternWithItsPlace) {
  EXPECT_THAT(Regex::compile("conv(1"),
              FailsWith(Error::Code::invalid_config,
                        HasSubstr("pattern 'conv(1' does not compile: missing "
                                  "closing parenthesis")));
  EXPECT_THAT(Regex::compile("["), FailsWith(Error::Code::invalid_config));
  EXPECT_THAT(Regex::compile("*a"), FailsWith(Error::Code::invalid_config));
  EXPECT_THAT(Regex::compile("a\\"), FailsWith(Error::Code::invalid_config));
  EXPECT_THAT(Regex::compile("\xff"), FailsWith(Error::Code::invalid_config));
}

TEST(Regex, GivesUpAtTheMatchLimit) {
  const Regex regex = compiled("^(a|a)*$");
  EXPECT_THAT(regex.search(std::string(20, 'a')), IsOkAndHolds(true));
  EXPECT_THAT(regex.search(std::string(60, 'a') + "b"),
              FailsWith(Error::Code::unsupported, HasSubstr("'^(a|a)*$'")));
}

// Each name would take a second.
TEST(Regex, GivesUpABacktrackingPatternForAllFurtherTexts) {
  const Regex regex = compiled("^(a|a)*$");
  EXPECT_FALSE(regex.has_given_up());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT(regex.search(std::string(60, 'a') + std::to_string(i)),
                FailsWith(Error::Code::unsupported));
  }
  EXPECT_TRUE(regex.has_given_up());
  EXPECT_THAT(regex.search("aa"), FailsWith(Error::Code::unsupported));
}

TEST(Regex, NeverGivesUpAPatternOfManyCheapSearches) {
  const Regex regex = compiled("(weight|bias)$");
  for (int i = 0; i < 100'000; ++i)
    ASSERT_THAT(regex.search("layer.bias"), IsOkAndHolds(true));
  EXPECT_FALSE(regex.has_given_up());
}

TEST(Regex, SearchesASubjectThatNeedsADeepStack) {
  EXPECT_THAT(compiled("^(a|bc)*$").search(std::string(100'000, 'a')),
              IsOkAndHolds(true));
}

}  // namespace
}  // namespace smdebug
