#include "base/json.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TEST(Json, ParsesEveryType) {
  const auto json = Json::parse(
      R"({"n": null, "b": true, "i": -7, "d": 0.5, "s": "\u00fc\n", "a": [1, []]})");
  ASSERT_THAT(json, IsOk());
  EXPECT_TRUE(json->find("n")->is_null());
  EXPECT_THAT(json->bool_at("b"), IsOkAndHolds(true));
  EXPECT_THAT(json->int_at("i"), IsOkAndHolds(-7));
  EXPECT_THAT(json->double_at("d"), IsOkAndHolds(0.5));
  EXPECT_THAT(json->string_at("s"), IsOkAndHolds(std::string("\xc3\xbc\n")));
  const auto array = json->array_at("a");
  ASSERT_THAT(array, IsOk());
  ASSERT_EQ((*array)->size(), 2u);
  EXPECT_TRUE((**array)[1].as_array()->empty());
}

TEST(Json, KeepsTheOrderOfMembers) {
  const auto json = Json::parse(R"({"z":1,"a":{"y":2,"b":3}})");
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(json->dump(), R"({"z":1,"a":{"y":2,"b":3}})");
}

TEST(Json, TakesTheLastOfTwoMembersWithOneKey) {
  EXPECT_THAT(Json::parse(R"({"a":1,"a":2})")->int_at("a"), IsOkAndHolds(2));
}

TEST(Json, DumpsAsPythonsJsonDumps) {
  // json.dumps({"a": [1, 2.0, 1e-05, 1e+16, 0.1, True, None,
  // "ü\x7f\n\"\U0001f600"], "o": {}})
  Json json;
  Json& array = json["a"];
  array.append(1);
  array.append(2.0);
  array.append(1e-5);
  array.append(1e16);
  array.append(0.1);
  array.append(true);
  array.append(nullptr);
  array.append("\xc3\xbc\x7f\n\"\xf0\x9f\x98\x80");
  json["o"] = Json::Object();
  EXPECT_EQ(json.dump(JsonStyle::spaced),
            R"({"a": [1, 2.0, 1e-05, 1e+16, 0.1, true, null, )"
            R"("\u00fc\u007f\n\"\ud83d\ude00"], "o": {}})");
}

TEST(Json, DumpsForPeopleWithOneMemberALine) {
  Json json;
  json["a"].append(1);
  json["a"].append(2);
  json["b"] = Json::Array();
  EXPECT_EQ(json.dump(JsonStyle::indented),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}");
}

TEST(Json, DumpsWhatJsonCannotHoldAsNull) {
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, DumpsBytesThatAreNotUtf8AsReplacements) {
  EXPECT_EQ(Json("a\xff").dump(JsonStyle::spaced), "\"a\\ufffd\"");
}

TEST(Json, ReadsBackEveryDouble) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const auto bits = random();
    double value = 0;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const auto read = Json::parse(Json(value).dump());
    ASSERT_THAT(read, IsOk());
    EXPECT_FALSE(read->is_integer());
    EXPECT_EQ(read->as_double(), value);
  }
}

TEST(Json, KeepsIntegersOf64Bits) {
  EXPECT_EQ(Json::parse("9223372036854775807")->as_int(), INT64_MAX);
  EXPECT_EQ(Json::parse("-9223372036854775808")->as_int(), INT64_MIN);
  EXPECT_EQ(Json::parse("9223372036854775808")->as_int(), std::nullopt);
  EXPECT_EQ(Json::parse("9223372036854775808")->as_double(), 0x1p63);
}

TEST(Json, TakesAWholeDoubleForAnInteger) {
  EXPECT_EQ(Json(3.0).as_int(), 3);
  EXPECT_EQ(Json(3.5).as_int(), std::nullopt);
  EXPECT_EQ(Json(1e300).as_int(), std::nullopt);
  EXPECT_EQ(Json(std::nan("")).as_int(), std::nullopt);
}

TEST(Json, NamesLineAndColumnOfAMistake) {
  EXPECT_THAT(Json::parse("{\n  \"a\": 1,\n  \"b\": x\n}"),
              FailsWith(Error::Code::corrupt, HasSubstr("line 3, column 8")));
  EXPECT_THAT(Json::parse("?"),
              FailsWith(Error::Code::corrupt, HasSubstr("line 1, column 1")));
}

TEST(Json, NamesTheRemedyOfAUsualMistake) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a": 5,})", "near '5,}': remove the comma before '}'"},
      {"[1,\n]", ": remove the comma before ']'"},
      {"{'a': 1}", ": use double quotes"},
      {"['a']", ": use double quotes"},
      {R"({"a": True})", ": write true"},
      {"[False, 1]", ": write false"},
      {R"({"a": None})", ": write null"},
      {"// why\n{}", ": JSON has no comments"},
      {R"({"a": 1, /* why */ "b": 2})", ": JSON has no comments"},
      {"[1, # why\n2]", ": JSON has no comments"},
      {R"({"a": [1, {"b": 2})", ": the text ends before ']'"},
      {R"({"a": ")", ": the text ends before '\"'"},
      {R"({"a": "x\")", ": the text ends before '\"'"},
      {R"({"a")", ": the text ends before '}'"},
      {R"({"a": 1 "b": 2})", ": a comma is missing before '\"b\"'"},
      {R"({"a": {} "b": 2})", ": a comma is missing before '\"b\"'"},
      {"[1 -2]", ": a comma is missing before '-2'"},
      {"[[1] [2]]", ": a comma is missing before '['"},
      {R"({"a" 1})", ": a colon is missing before '1'"}};
  for (const auto& [text, remedy] : cases) {
    EXPECT_THAT(Json::parse(text),
                FailsWith(Error::Code::corrupt, testing::EndsWith(remedy)))
        << text;
  }
}

TEST(Json, NamesNoRemedyOfAnotherMistake) {
  for (const char* text : {"[x]", "[1.]", "Truest", "{} {}", "[1}", "tru",
                           "[\"\\x\"]", "[\"a\nb\"]", "]", "{,}", "{\"a\":}"}) {
    EXPECT_THAT(Json::parse(text),
                FailsWith(Error::Code::corrupt, testing::EndsWith("'")))
        << text;
    EXPECT_THAT(Json::parse(text),
                FailsWith(Error::Code::corrupt, testing::Not(HasSubstr("': "))))
        << text;
  }
}

TEST(Json, NamesTheFileOfAMistake) {
  EXPECT_THAT(
      Json::parse("{\n  \"a\": x}", "dir/a.json"),
      FailsWith(Error::Code::corrupt, HasSubstr("dir/a.json:2:8: not")));
  EXPECT_THAT(
      Json::parse("[\n" + std::string(200, '['), "a.json"),
      FailsWith(Error::Code::corrupt, HasSubstr("a.json:2:128: nested")));
}

TEST(Json, KnowsWhereEachValueBegan) {
  const std::string text =
      "\xef\xbb\xbf {\"a\" : 12,\n \"b,:\":[ true ,\"x\\\"y\",-1.5e3],"
      "\"c\":{\"d\":[[1],[]], \"e\":null}}";
  const auto json = Json::parse(text);
  ASSERT_THAT(json, IsOk());
  const auto rest = [&](const Json& value, std::size_t length) {
    return text.substr(value.offset(), length);
  };
  EXPECT_EQ(json->offset(), 4u);
  EXPECT_EQ(rest(*json->find("a"), 3), "12,");
  const Json& b = *json->find("b,:");
  EXPECT_EQ(rest(b, 3), "[ t");
  EXPECT_EQ(rest((*b.as_array())[0], 4), "true");
  EXPECT_EQ(rest((*b.as_array())[1], 6), R"("x\"y")");
  EXPECT_EQ(rest((*b.as_array())[2], 6), "-1.5e3");
  const Json& c = *json->find("c");
  EXPECT_EQ(rest(c, 2), "{\"");
  const Json& d = *c.find("d");
  EXPECT_EQ(rest(d, 3), "[[1");
  EXPECT_EQ(rest((*d.as_array())[0], 2), "[1");
  EXPECT_EQ(rest((*(*d.as_array())[0].as_array())[0], 2), "1]");
  EXPECT_EQ(rest((*d.as_array())[1], 2), "[]");
  EXPECT_EQ(rest(*c.find("e"), 4), "null");
}

TEST(Json, IsEqualWhereverItStood) {
  EXPECT_EQ(*Json::parse("[1]"), *Json::parse("   [ 1]"));
  EXPECT_EQ(Json::parse(" [1]")->offset(), 1u);
}

TEST(PlaceIn, CountsLinesAndCharacters) {
  const std::string text = "ab\n\xc3\xbc\xe2\x82\xacx\n";
  const auto place = [&](std::size_t offset) {
    const TextPosition at = position_in(text, offset);
    return std::pair(at.line, at.column);
  };
  EXPECT_EQ(place(0), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_EQ(place(text.find('x')), std::pair(std::size_t{2}, std::size_t{3}));
  EXPECT_EQ(place(text.size()), std::pair(std::size_t{3}, std::size_t{1}));
  EXPECT_EQ(place(999), std::pair(std::size_t{3}, std::size_t{1}));
}

TEST(TextPositions, AreTheSameInEveryOrder) {
  const std::string text = "ab\n\xc3\xbc\xe2\x82\xacx\n\n  \"\xc3\xbc\": 1,\n";
  // Each step visits all offsets, because their number is a prime.
  ASSERT_EQ(text.size() + 1, 23u);
  for (const std::size_t step : {1, 2, 5, 7, 11, 22}) {
    TextPositions positions(text);
    std::size_t offset = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      offset = (offset + step) % (text.size() + 1);
      std::size_t line = 1, column = 1;
      for (const char c : text.substr(0, offset)) {
        column += (c & '\xc0') != '\x80';
        if (c == '\n') ++line, column = 1;
      }
      const TextPosition at = positions.at(offset);
      EXPECT_EQ(std::pair(at.line, at.column), std::pair(line, column))
          << offset;
    }
  }
}

TEST(Json, RefusesWhatIsNotOneValue) {
  for (const char* text :
       {"", "   ", "{", "[1,]", "1 2", "{\"a\":1}}", "'a'", "NaN", "[1",
        "\"\\ud800\"", "\"a\nb\"", "\xff", "01", "1e999"}) {
    EXPECT_THAT(Json::parse(text), FailsWith(Error::Code::corrupt)) << text;
  }
}

TEST(Json, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_THAT(Json::parse(nested(128)), IsOk());
  EXPECT_THAT(Json::parse(nested(129)),
              FailsWith(Error::Code::corrupt, HasSubstr("128 levels")));
  EXPECT_THAT(Json::parse(std::string(1'000'000, '[')),
              FailsWith(Error::Code::corrupt));
}

TEST(Json, SurvivesDamagedText) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string good =
      R"({"a": [1, -2.5e3, "x\u00e9", {"b": null, "c": [true, false]}], "d": {}})";
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (int flips = 1 + random() % 3; flips > 0; --flips) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (const auto json = Json::parse(text); json.ok()) {
      EXPECT_THAT(Json::parse(json->dump()), IsOkAndHolds(*json)) << text;
    }
  }
}

TEST(Json, SaysWhichMemberIsMissingOrOfTheWrongType) {
  const auto json = Json::parse(R"({"steps":"x","d":1.5})");
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(json->int_at("steps").error().message,
            "'steps' should be a 64-bit integer but is a string");
  EXPECT_THAT(json->int_at("d"), FailsWith(Error::Code::corrupt));
  EXPECT_EQ(json->bool_at("no").error().message, "'no' is missing");
  EXPECT_EQ(Json(1).string_at("no").error().message,
            "should be an object with 'no' but is a number");
}

TEST(Json, EditsInPlace) {
  Json json;
  json["a"] = 1;
  json["a"] = 2;
  json["b"]["c"] = std::optional<int>();
  EXPECT_EQ(json.dump(), R"({"a":2,"b":{"c":null}})");
}

}  // namespace
}  // namespace smdebug
