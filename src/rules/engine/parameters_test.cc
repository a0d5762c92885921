#include "smdebug/rules/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ParameterSpec kTable[] = {
    {"threshold", ParameterType::real, "1e-7", "", 0.0, 1.0, {}},
    {"num_steps", ParameterType::integer, "10", "", 1.0, {}, {}},
    {"only_nan", ParameterType::boolean, "false", "", {}, {}, {}},
    {"mode", ParameterType::text, "", "", {}, {}, {"TRAIN", "EVAL"}},
    {"regexes", ParameterType::text_list, "a, b", "", {}, {}, {}},
};

Result<Parameters> parse(const std::map<std::string, std::string>& given) {
  return Parameters::parse("SomeRule", kTable, given);
}

TEST(Parameters, TakeTheirDefaults) {
  const auto parameters = parse({});
  ASSERT_TRUE(parameters.ok());
  EXPECT_EQ(parameters->real("threshold"), 1e-7);
  EXPECT_EQ(parameters->integer("num_steps"), 10);
  EXPECT_FALSE(parameters->boolean("only_nan"));
  EXPECT_FALSE(parameters->has("mode"));
  EXPECT_THAT(parameters->text_list("regexes"), ElementsAre("a", "b"));
}

TEST(Parameters, TakeWhatIsGiven) {
  const auto parameters = parse({{"threshold", " 0.5 "},
                                 {"num_steps", "3"},
                                 {"only_nan", "YES"},
                                 {"mode", "eval"},
                                 {"regexes", "x,,y ,"}});
  ASSERT_TRUE(parameters.ok());
  EXPECT_EQ(parameters->real("threshold"), 0.5);
  EXPECT_EQ(parameters->integer("num_steps"), 3);
  EXPECT_TRUE(parameters->boolean("only_nan"));
  EXPECT_EQ(parameters->text("mode"), "EVAL");
  EXPECT_THAT(parameters->text_list("regexes"), ElementsAre("x", "y"));
}

TEST(Parameters, TellWhatIsGivenFromWhatThePresetSets) {
  const auto parameters = parse({{"threshold", "1e-7"}});
  ASSERT_TRUE(parameters.ok());
  EXPECT_TRUE(parameters->is_given("threshold"));
  EXPECT_FALSE(parameters->is_given("num_steps"));
}

TEST(Parameters, TakeThePresetForWhatIsNotGiven) {
  const ParameterSpec table[] = {
      {"low", ParameterType::real, "1", "", {}, {}, {}, "2"},
      {"high", ParameterType::real, "3", "", {}, {}, {}, "4"},
      {"same", ParameterType::real, "5", "", {}, {}, {}},
      {"preset",
       ParameterType::text,
       "default",
       "",
       {},
       {},
       {"default", "tuned"}},
  };
  const auto values = [&](const std::map<std::string, std::string>& given) {
    const auto parameters = Parameters::parse("SomeRule", table, given);
    EXPECT_TRUE(parameters.ok());
    return std::vector{parameters->real("low"), parameters->real("high"),
                       parameters->real("same")};
  };
  EXPECT_THAT(values({}), ElementsAre(1, 3, 5));
  EXPECT_THAT(values({{"preset", "default"}}), ElementsAre(1, 3, 5));
  EXPECT_THAT(values({{"preset", " Tuned"}}), ElementsAre(2, 4, 5));
  EXPECT_THAT(values({{"preset", "tuned"}, {"high", "9"}}),
              ElementsAre(2, 9, 5));
}

TEST(Parameters, TakeNoneForNothing) {
  const auto parameters = parse({{"mode", "None"}});
  ASSERT_TRUE(parameters.ok());
  EXPECT_FALSE(parameters->has("mode"));
}

TEST(Parameters, AcceptBothEndsOfTheirRange) {
  EXPECT_TRUE(parse({{"threshold", "0"}}).ok());
  EXPECT_TRUE(parse({{"threshold", "1"}}).ok());
}

TEST(Parameters, RefuseWhatIsNotOfTheirTypeOrRange) {
  const std::pair<const char*, const char*> kBad[] = {
      {"threshold", "tiny"},
      {"threshold", "1.01"},
      {"threshold", "-1"},
      {"threshold", "nan"},
      {"threshold", "0.5x"},
      {"num_steps", "0"},
      {"num_steps", "2.5"},
      {"num_steps", "1e30"},
      {"only_nan", "maybe"},
      {"mode", "TRAINING"},
      {"num_steps", "99999999999999999999"}};
  for (const auto& [name, text] : kBad) {
    const auto parameters = parse({{name, text}});
    ASSERT_FALSE(parameters.ok()) << name << "=" << text;
    EXPECT_EQ(parameters.error().code, Error::Code::invalid_config);
    EXPECT_THAT(parameters.error().message,
                AllOf(HasSubstr("SomeRule"), HasSubstr(name), HasSubstr(text)));
  }
}

TEST(Parameters, RefuseAnEmptyNumber) {
  for (const char* name : {"threshold", "num_steps", "only_nan"}) {
    for (const char* text : {"", "  "}) {
      const auto parameters = parse({{name, text}});
      ASSERT_FALSE(parameters.ok()) << name;
      EXPECT_THAT(parameters.error().message,
                  HasSubstr(std::string("but is '") + text + "'"));
    }
  }
  EXPECT_THAT(parse({{"regexes", ""}})->text_list("regexes"), IsEmpty());
}

TEST(Parameters, SayWhatIsAccepted) {
  EXPECT_EQ(parse({{"threshold", "2"}}).error().message,
            "rule SomeRule: parameter 'threshold' should be a number from 0 to "
            "1 but is '2'");
  EXPECT_THAT(parse({{"mode", "x"}}).error().message,
              HasSubstr("one of 'TRAIN', 'EVAL'"));
}

TEST(Parameters, AnswerAnUnknownNameWithTheNearest) {
  const auto parameters = parse({{"treshold", "1"}});
  ASSERT_FALSE(parameters.ok());
  EXPECT_THAT(parameters.error().message,
              AllOf(HasSubstr("no parameter 'treshold'"),
                    HasSubstr("similar: 'threshold'")));
}

}  // namespace
}  // namespace smdebug
