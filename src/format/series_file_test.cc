#include "format/series_file.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/replaced_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;

// Base64 made by Python: base64.b64encode(struct.pack("<qq", 7, 8)), ...
constexpr std::string_view kText =
    R"({"version": 1, "worker": "worker_0", "steps": )"
    R"({"global": "BwAAAAAAAAAIAAAAAAAAAA==", "mode": "AQE=", )"
    R"("mode_step": "AwAAAAAAAAAEAAAAAAAAAA=="}, "series": )"
    R"([{"name": "loss", "at": null, "value": "AAAAAAAA+D8AAAAAAADwPw=="}, )"
    R"({"name": "lr", "at": "AAAAAA==", "value": "AAAAAAAA4D8="}]})";

SeriesFile two_series() {
  const StepId first = {7, Mode::train, 3}, second = {8, Mode::train, 4};
  return {"worker_0",
          {{"loss", {{first, 1.5}, {second, 1}}}, {"lr", {{first, 0.5}}}}};
}

// kText, with `from` replaced.
std::string changed_series(std::string_view from, std::string_view to) {
  return replaced(std::string(kText), from, to);
}

TEST(SeriesFile, HasTheBytesOfTheFormat) {
  EXPECT_EQ(write_series_file(two_series()), kText);
}

TEST(SeriesFile, ComesBack) {
  const auto file = parse_series_file(kText);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*file, two_series());
  EXPECT_EQ(steps_of(*file), (SeriesSteps{7, 8}));
  const auto empty = parse_series_file(write_series_file({}));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(*empty, SeriesFile());
  EXPECT_EQ(steps_of(*empty), SeriesSteps());
}

TEST(SeriesFile, KeepsEveryBitOfAValue) {
  const double values[] = {std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(),
                           -0.0,
                           std::numeric_limits<double>::denorm_min(),
                           0.1};
  SeriesFile file{"w", {{"loss", {}}}};
  for (const double value : values) {
    auto& samples = file.series[0].samples;
    const auto step = static_cast<Step>(samples.size());
    samples.push_back({{step, Mode::eval, step}, value});
  }
  const auto again = parse_series_file(write_series_file(file));
  ASSERT_TRUE(again) << again.error().message;
  for (std::size_t i = 0; i < std::size(values); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(again->series[0].samples[i].value),
              std::bit_cast<std::uint64_t>(values[i]));
  }
}

TEST(SeriesFile, ComesBackForRandomSeries) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<StepId> steps;
    Step global = static_cast<Step>(random() % 1000);
    for (auto n = random() % 40; n > 0; --n) {
      global += 1 + static_cast<Step>(random() % 3);
      steps.push_back({global, kModes[random() % kModes.size()],
                       static_cast<Step>(random() % 1000)});
    }
    SeriesFile file{"worker_" + std::to_string(random() % 10), {}};
    for (auto n = random() % 5; n > 0; --n) {
      ScalarSeries one{"s" + std::to_string(n) + "\"\n\u00e4", {}};
      for (const StepId& step : steps) {
        if (random() % 3 != 0)
          one.samples.push_back({step, static_cast<double>(random())});
      }
      if (!one.samples.empty()) file.series.push_back(std::move(one));
    }
    const auto again = parse_series_file(write_series_file(file));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, file);
  }
}

TEST(SeriesFile, IgnoresUnknownMembers) {
  const auto file = parse_series_file(
      changed_series("{\"version\": 1", "{\"hint\": [1], \"version\": 1"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*file, two_series());
}

TEST(SeriesFile, OfALaterVersionIsNotSupported) {
  const auto file = parse_series_file(changed_series("n\": 1", "n\": 2"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Error::Code::unsupported);
}

TEST(SeriesFile, ThatContradictsItselfIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"{", "series"},
      {changed_series("\"worker\"", "\"wörker\""), "worker"},
      {changed_series("\"steps\"", "\"stops\""), "steps"},
      // Steps 8 and 7, 7 and 7, -1 and 8.
      {changed_series("BwAAAAAAAAAIAAAAAAAAAA==", "CAAAAAAAAAAHAAAAAAAAAA=="),
       "do not ascend"},
      {changed_series("BwAAAAAAAAAIAAAAAAAAAA==", "BwAAAAAAAAAHAAAAAAAAAA=="),
       "do not ascend"},
      {changed_series("BwAAAAAAAAAIAAAAAAAAAA==", "//////////8IAAAAAAAAAA=="),
       "'global' is out of range"},
      {changed_series("BwAAAAAAAAAIAAAAAAAAAA==", "BwAAAAAAAAAI"),
       "multiple of 8"},
      {changed_series("BwAAAAAAAAAIAAAAAAAAAA==", "?"), "column 'global'"},
      {changed_series("AQE=", "AQU="), "'mode' is out of range"},
      {changed_series("AQE=", "AQA="), "'mode' is out of range"},
      {changed_series("AQE=", "AQ=="), "holds 1 numbers instead of 2"},
      {changed_series("AwAAAAAAAAAEAAAAAAAAAA==", "AwAAAAAAAAA="),
       "holds 1 numbers instead of 2"},
      {changed_series("AwAAAAAAAAAEAAAAAAAAAA==", "//////////8EAAAAAAAAAA=="),
       "'mode_step' is out of range"},
      {changed_series("\"AAAAAA==\"", "\"AgAAAA==\""), "'at' is out of range"},
      {changed_series("\"AAAAAA==\"", "\"AQAAAAAAAAA=\""), "do not ascend"},
      {changed_series("\"AAAAAA==\"", "null"), "holds 1 numbers instead of 2"},
      {changed_series("AAAAAAAA4D8=", ""), "holds 0 numbers instead of 1"},
      {changed_series("\"AAAAAA==\", \"value\": \"AAAAAAAA4D8=\"",
                      "\"\", \"value\": \"\""),
       "no samples"},
      {changed_series("\"lr\"", "\"\""), "no name"},
      {changed_series("\"lr\"", "\"loss\""), "twice"},
  };
  for (const auto& [text, reason] : cases) {
    const auto file = parse_series_file(text);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.error().code, Error::Code::corrupt) << text;
    EXPECT_THAT(file.error().message, HasSubstr(reason)) << text;
  }
}

}  // namespace
}  // namespace smdebug
