// Tests 'smdebug check --ray' with a cluster that is this process.

#include <nlohmann/json.hpp>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

using Commands = std::span<const std::vector<std::string>>;
using OnJudged = std::function<void(std::size_t, Result<RemoteResult>)>;

RemoteResult judge_here(const std::vector<std::string>& command) {
  std::ostringstream messages;
  CliHooks hooks;
  hooks.err = &messages;
  std::string record = judge_for_ray(command, hooks);
  return {std::move(record), messages.str()};
}

// Judges the last run first.
Status judge_backwards(const std::string& address, Commands commands,
                       const OnJudged& on_judged) {
  EXPECT_EQ(address, "head:6379");
  for (std::size_t i = commands.size(); i-- > 0;)
    on_judged(i, judge_here(commands[i]));
  return {};
}

Spoken check_on(const std::function<Status(const std::string&, Commands,
                                           const OnJudged&)>& cluster,
                std::vector<std::string> args) {
  CliHooks hooks;
  hooks.judge_on_ray = cluster;
  args.insert(args.begin(), {"check", "--ray", "head:6379"});
  return smdebug(args, hooks);
}

TEST(CheckOnRay, IsRefusedByAProgramWithoutPython) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const Spoken spoken =
      smdebug({"check", folder.path("run"), "--ray", "local"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_EQ(spoken.out, "");
  EXPECT_EQ(spoken.err,
            "smdebug: --ray needs Python, which this program does not support; "
            "use the 'smdebug' command of the Python package, or omit --ray\n");
}

TEST(CheckOnRay, PrintsWhatCheckPrints) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kVanishing);
  record_run(folder.path("b"), kHealthy);
  record_run(folder.path("c"), kHealthy);
  folder.write("c/index/000000000/000000000003_worker_0.json", "{");
  const std::vector<std::string> runs = {folder.path("a"), folder.path("b"),
                                         folder.path("nowhere"),
                                         folder.path("c")};
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{
           {},
           {"--json"},
           {"--verbose"},
           {"--quiet"},
           {"--rule", "VanishingGradient", "--set", "threshold=1e-12", "--set",
            "preset=tuned", "--rule", "ExplodingTensor", "--rule",
            "NLPSequenceRatio", "--set", "tensor_regex=a=b, c"}}) {
    std::vector<std::string> words = runs;
    words.insert(words.end(), options.begin(), options.end());
    const Spoken remote = check_on(judge_backwards, words);
    words.insert(words.begin(), "check");
    const Spoken here = smdebug(words);
    if (options.empty())
      ASSERT_THAT(here.out, HasSubstr("damage in " + runs.back()));
    EXPECT_EQ(remote.out, here.out);
    EXPECT_EQ(remote.code, here.code);
    EXPECT_THAT(remote.err, testing::EndsWith(here.err));
  }
}

TEST(CheckOnRay, PrintsEachRunAsItComes) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kVanishing);
  record_run(folder.path("b"), kHealthy);
  std::vector<std::string> words = {folder.path("a"), folder.path("nowhere"),
                                    folder.path("b"), "--rule",
                                    "VanishingGradient"};
  EXPECT_THAT(
      check_on(judge_backwards, words).err,
      testing::StartsWith(
          "smdebug: 1 of 3 runs: " + folder.path("b") + ": nothing found\n" +
          "smdebug: 2 of 3 runs: " + folder.path("nowhere") +
          ": cannot be judged\n" + "smdebug: 3 of 3 runs: " + folder.path("a") +
          ": VanishingGradient fired\n"));
  words.emplace_back("--quiet");
  EXPECT_THAT(check_on(judge_backwards, words).err,
              testing::StartsWith("smdebug: no run at '"));
}

TEST(CheckOnRay, FailsIfTheClusterCannotBeUsed) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kVanishing);
  const Spoken spoken = check_on(
      [](const std::string&, Commands, const OnJudged&) {
        return Status(Error{Error::Code::unavailable, "no cluster"});
      },
      {folder.path("a"), "--json"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_EQ(spoken.out, "");
  EXPECT_EQ(spoken.err, "smdebug: no cluster\n");
}

TEST(CheckOnRay, KeepsTheResultsOfAClusterThatFailsInBetween) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kVanishing);
  record_run(folder.path("b"), kVanishing);
  const Spoken spoken = check_on(
      [](const std::string&, Commands commands, const OnJudged& on_judged) {
        on_judged(0, judge_here(commands[0]));
        return Status(Error{Error::Code::unavailable, "no cluster"});
      },
      {folder.path("a"), folder.path("b"), "--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.out, HasSubstr("diagnosis of " + folder.path("a") + "\n"));
  EXPECT_THAT(spoken.err, HasSubstr("smdebug: run '" + folder.path("b") +
                                    "': no cluster\n"));
}

TEST(CheckOnRay, AProcessThatDiesIsTheErrorOfItsRun) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kHealthy);
  record_run(folder.path("b"), kHealthy);
  const Spoken spoken = check_on(
      [](const std::string&, Commands commands, const OnJudged& on_judged) {
        on_judged(0, Error{Error::Code::unavailable, "it died"});
        on_judged(1, judge_here(commands[1]));
        return Status();
      },
      {folder.path("a"), folder.path("b"), "--json"});
  EXPECT_EQ(spoken.code, 1);
  const auto judged = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(judged[0]["error"], "run '" + folder.path("a") + "': it died");
  EXPECT_TRUE(judged[1]["error"].is_null());
}

TEST(CheckOnRay, RefusesActions) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kVanishing);
  const Spoken spoken =
      check_on(judge_backwards, {folder.path("a"), "--action", "stop"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("--action does not work with --ray"));
}

TEST(CheckOnRay, FindsAMistakeBeforeItUsesTheCluster) {
  TemporaryFolder folder;
  record_run(folder.path("a"), kHealthy);
  const Spoken spoken = check_on(
      [](const std::string&, Commands, const OnJudged&) {
        ADD_FAILURE() << "the cluster was used";
        return Status();
      },
      {folder.path("a"), "--rule", "Nothing"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("unknown rule 'Nothing'"));
}

TEST(CheckOnRay, JudgesTheRunsOfAPattern) {
  TemporaryFolder folder;
  record_run(folder.path("all/b"), kHealthy);
  record_run(folder.path("all/a"), kVanishing);
  const Spoken spoken =
      check_on(judge_backwards, {folder.path("all/*"), "--json"});
  const auto judged = nlohmann::json::parse(spoken.out);
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_EQ(judged[0]["run"], folder.path("all/a"));
  EXPECT_EQ(judged[1]["run"], folder.path("all/b"));
}

}  // namespace
}  // namespace smdebug
