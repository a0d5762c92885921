#include "format/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

RunFile sample() {
  RunFile run;
  run.smdebug_version = "2.0.0";
  run.framework = "pytorch";
  run.saved_collections = {"losses", "weights"};
  run.configuration_json = R"({"save_interval":10,"names":["a","b"]})";
  RunAttempt killed;
  killed.host = "node";
  killed.process_id = 4711;
  killed.started_seconds = 1700000000.25;
  killed.status = "running";
  RunAttempt ended = killed;
  ended.command = {"python", "train.py", "--lr", "0.1"};
  ended.versions = {{"python", "3.11.7"}, {"torch", "2.13.0"}};
  ended.environment = {{"RANK", "0"}};
  ended.ended_seconds = 1700000009.5;
  ended.first_step = 40;
  ended.status = "finished";
  ended.raised = "ValueError";
  ended.cost = {{"step_thread_seconds", 0.02}};
  run.attempts = {killed, ended};
  return run;
}

TEST(RunFile, ComesBack) {
  const auto run = parse_run_file(write_run_file(sample()));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->version, 1);
  EXPECT_EQ(run->smdebug_version, "2.0.0");
  EXPECT_EQ(run->framework, "pytorch");
  EXPECT_THAT(run->saved_collections, ElementsAre("losses", "weights"));
  EXPECT_EQ(run->configuration_json, sample().configuration_json);
  ASSERT_EQ(run->attempts.size(), 2u);
  EXPECT_FALSE(run->attempts[0].ended_seconds);
  EXPECT_FALSE(run->attempts[0].first_step);
  const RunAttempt& ended = run->attempts[1];
  EXPECT_EQ(ended.host, "node");
  EXPECT_EQ(ended.process_id, 4711);
  EXPECT_EQ(ended.started_seconds, 1700000000.25);
  EXPECT_EQ(ended.ended_seconds, 1700000009.5);
  EXPECT_THAT(ended.command, ElementsAre("python", "train.py", "--lr", "0.1"));
  EXPECT_THAT(ended.versions,
              ElementsAre(Pair("python", "3.11.7"), Pair("torch", "2.13.0")));
  EXPECT_THAT(ended.environment, ElementsAre(Pair("RANK", "0")));
  EXPECT_EQ(ended.first_step, 40);
  EXPECT_EQ(ended.status, "finished");
  EXPECT_EQ(ended.raised, "ValueError");
  EXPECT_THAT(ended.cost, ElementsAre(Pair("step_thread_seconds", 0.02)));
}

TEST(RunFile, HoldsItsConfigurationAsJsonAndNotAsText) {
  EXPECT_THAT(write_run_file(sample()),
              testing::HasSubstr("\"save_interval\": 10"));
  RunFile run;
  run.configuration_json = "no json";
  EXPECT_THAT(write_run_file(run),
              testing::HasSubstr("\"configuration\": null"));
}

TEST(RunFile, WithStrangeMembersKeepsItsDefaults) {
  const auto run = parse_run_file(
      R"({"version": 2, "framework": 7, "new": 1, "attempts":
          [{"host": [], "pid": "x", "command": [1, "b"], "cost": {"a": "b"},
            "versions": 3}, 5]})");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->framework, "");
  ASSERT_EQ(run->attempts.size(), 2u);
  EXPECT_THAT(run->attempts[0].command, ElementsAre("b"));
}

TEST(RunFile, OfTheWrongShapeIsCorrupt) {
  for (const char* text : {"", "[]", "{}", R"({"version": 1})",
                           R"({"version": "1", "attempts": []})",
                           R"({"version": 1, "attempts": {}})"}) {
    const auto run = parse_run_file(text);
    ASSERT_FALSE(run) << text;
    EXPECT_EQ(run.error().code, Error::Code::corrupt) << text;
  }
}

TEST(Claim, NamesTheOwnerOfTheRun) {
  EXPECT_EQ(
      write_claim({"node \"1\"", 4711, 123456789012}),
      R"({"host": "node \"1\"", "pid": 4711, "start_ticks": 123456789012})");
}

TEST(Claim, IsParsedAsWritten) {
  const auto claim = parse_claim(write_claim({"node", 4711, 42}));
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->host, "node");
  EXPECT_EQ(claim->process_id, 4711);
  EXPECT_EQ(claim->start_ticks, 42u);
}

TEST(Claim, OfTheOriginalOrTornNamesNoOwner) {
  for (const char* text : {"", "{", "[]", "{}", R"({"host": "a", "pid": 1})",
                           R"({"host": 1, "pid": 1, "start_ticks": 1})",
                           R"({"host": "a", "pid": 1, "start_ticks": -1})"}) {
    EXPECT_FALSE(parse_claim(text)) << text;
  }
}

}  // namespace
}  // namespace smdebug
