// Tests the output of check, watch and show for several rules, for several
// runs, and for runs that are ahead of their rules.

#include <chrono>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

nlohmann::json parsed(const std::string& text) {
  return nlohmann::json::parse(text);
}

// The gradient is not finite from step 3 on, the loss from step 5 on.
constexpr Course kSpoiled = {
    .gradient =
        [](Step step) {
          return step < 3 ? 0.5 : std::numeric_limits<double>::quiet_NaN();
        },
    .loss =
        [](Step step) {
          return step < 5 ? 1.0 : std::numeric_limits<double>::infinity();
        }};

TEST(JudgingCommands, CheckJudgesManyRunsAsItJudgesEachAlone) {
  TemporaryFolder folder;
  std::vector<std::string> runs;
  const std::vector<Course> courses = {kVanishing, kHealthy, kSpoiled};
  for (int i = 0; i < 9; ++i) {
    runs.push_back(folder.path("run_" + std::to_string(i)));
    if (i == 4) continue;  // a run that is not there stops no other
    Course course = courses[static_cast<std::size_t>(i) % courses.size()];
    course.steps = 10 + 30 * (8 - i);  // the first take the longest
    record_run(runs.back(), course);
  }
  std::vector<std::string> all = {"check"};
  auto expected = nlohmann::json::array();
  for (const std::string& run : runs) {
    all.push_back(run);
    expected.push_back(parsed(smdebug({"check", run, "--json"}).out).at(0));
  }
  all.push_back("--json");
  const Spoken spoken = smdebug(all);
  EXPECT_EQ(spoken.code, 3);
  EXPECT_EQ(parsed(spoken.out), expected);
  EXPECT_EQ(smdebug(all).out, spoken.out);
}

TEST(JudgingCommands, CheckTellsTheActionsOfEachRunInTheOrderGiven) {
  TemporaryFolder folder;
  std::vector<std::string> words = {"check"};
  for (const char* name : {"b", "a", "c"}) {
    record_run(folder.path(name), kVanishing);
    words.push_back(folder.path(name));
  }
  for (const char* word :
       {"--rule", "VanishingGradient", "--action", "command=true", "--json"}) {
    words.emplace_back(word);
  }
  const auto judged = parsed(smdebug(words).out);
  ASSERT_EQ(judged.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(judged[i]["run"], words[i + 1]);
    ASSERT_EQ(judged[i]["actions"].size(), 1u);
    EXPECT_EQ(judged[i]["actions"][0]["status"], "done");
  }
}

TEST(JudgingCommands, CheckDiagnosesWhatSeveralRulesFound) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kSpoiled);
  const std::vector<std::string> words = {
      "check", folder.path("run"), "--rule", "LossNotDecreasing",
      "--set", "num_steps=1",      "--rule", "VanishingGradient",
      "--set", "threshold=1e-9",   "--rule", "ExplodingTensor",
      "--set", "only_nan=true",    "--rule", "ExplodingTensor",
      "--set", "tensor_regex=Loss"};
  std::vector<std::string> in_json = words;
  in_json.push_back("--json");
  const auto judged = parsed(smdebug(in_json).out).at(0);
  EXPECT_EQ(judged["likely_cause"]["rule"], judged["verdicts"][0]["rule"]);
  std::vector<int> steps;
  for (const auto& verdict : judged["verdicts"]) {
    if (verdict["status"] == "IssuesFound") {
      steps.push_back(verdict["step"]["global"]);
      EXPECT_NE(verdict["cause"], "");
      EXPECT_NE(verdict["advice"], "");
    }
  }
  EXPECT_EQ(steps, (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(judged["likely_cause"]["text"],
            "LossNotDecreasing at step 1 (TRAIN step 1), in "
            "CrossEntropyLoss_output_0, the first of 3 rules that fired");
  // The loss stood still before anything was not finite.
  ASSERT_EQ(judged["diagnosis"].size(), 2u);
  EXPECT_EQ(judged["diagnosis"][1]["cause"]["step"]["global"], 3);
  EXPECT_EQ(judged["diagnosis"][1]["confidence"], "one of two");
  EXPECT_EQ(judged["diagnosis"][1]["consequences"].size(), 1u);
  const std::string said = smdebug(words).out;
  EXPECT_THAT(said, HasSubstr("diagnosis of " + folder.path("run") + "\n"));
  EXPECT_THAT(said, HasSubstr("  one of two  LossNotDecreasing at step 1\n"));
  EXPECT_THAT(said, HasSubstr("  try         "));
}

TEST(JudgingCommands, OfOneStepTheTensorThatWasMadeFirstIsTheCause) {
  TemporaryFolder folder;
  Course course = kSpoiled;
  course.loss = [](Step step) {
    return step < 3 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
  };
  record_run(folder.path("run"), course);
  // The gradient is recorded before the loss.
  const auto judged =
      parsed(smdebug({"check", folder.path("run"), "--rule", "ExplodingTensor",
                      "--set", "tensor_regex=Loss", "--rule", "ExplodingTensor",
                      "--set", "collection_names=gradients", "--json"})
                 .out);
  EXPECT_EQ(judged.at(0)["likely_cause"]["tensor"], "gradient/Net_fc.weight");
}

TEST(JudgingCommands, OneRuleThatFiredIsNoCauseOfOthers) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  const auto judged = parsed(smdebug({"check", folder.path("run"), "--rule",
                                      "VanishingGradient", "--rule",
                                      "ExplodingTensor", "--json"})
                                 .out)
                          .at(0);
  EXPECT_TRUE(judged["likely_cause"].is_null());
  EXPECT_TRUE(judged["diagnosis"].at(0)["consequences"].empty());
}

// One of two workers; without its other one a step is not complete.
void record_worker(const std::string& out_dir, int rank, Step steps) {
  SaveConfigMode every_step;
  every_step.save_interval = 1;
  SessionOptions options;
  options.config.out_dir = out_dir;
  options.config.save_config = SaveConfig(every_step);
  options.config.include_collections = {"gradients"};
  options.config.include_workers = IncludeWorkers::all;
  options.framework = pytorch_framework();
  NullLogger silent;
  options.logger = &silent;
  auto session = *Session::create(std::move(options));
  session->set_worker(rank, 2);
  const TensorSlot gradient = session->gradient("Net", "fc.weight");
  const float element = 0.5;
  for (Step step = 0; step < steps; ++step) {
    session->begin_step();
    gradient.put(
        {DType::float32, reinterpret_cast<const std::byte*>(&element), {}, {}});
    session->end_step();
  }
  ASSERT_TRUE(session->flush().ok());
}

TEST(JudgingCommands, WatchTellsHowFarTheTrainingIsAhead) {
  TemporaryFolder folder;
  const std::string run = folder.path("run");
  record_worker(run, 0, 10);
  record_worker(run, 1, 6);
  FakeClock clock;
  clock.set_shortest_sleep(std::chrono::seconds(10));
  CliHooks hooks;
  hooks.clock = &clock;
  const Spoken spoken = smdebug(
      {"watch", run, "--rule", "VanishingGradient", "--timeout", "60"}, hooks);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("step 5, 1 rule, 4 steps ("),
                                HasSubstr("s) behind the training")));
  const auto page = parsed(smdebug({"show", run, "--json"}).out);
  ASSERT_EQ(page["rules"].size(), 1u);
  EXPECT_EQ(page["rules"][0]["rule"], "VanishingGradient");
  EXPECT_EQ(page["rules"][0]["last_step"], 5);
  EXPECT_EQ(page["rules"][0]["lag_steps"], 4);
  EXPECT_GE(page["rules"][0]["lag_seconds"], 30);
  EXPECT_LE(page["rules"][0]["lag_seconds"], 90);
}

TEST(JudgingCommands, ShowTellsWhatRulesSaidOfTheRun) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  EXPECT_THAT(smdebug({"show", folder.path("run")}).out,
              Not(HasSubstr("VanishingGradient")));
  (void)smdebug({"watch", folder.path("run"), "--rule", "VanishingGradient",
                 "--rule", "ExplodingTensor"});
  EXPECT_THAT(smdebug({"show", folder.path("run")}).out,
              AllOf(HasSubstr("VanishingGradient: IssuesFound, up to step "),
                    HasSubstr("mean |g| 1e-09 is below 1e-07 at step 6"),
                    HasSubstr("ExplodingTensor: NoIssuesFound, up to step 9")));
}

TEST(JudgingCommands, CheckHasNothingToStopInARunThatHasEnded) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kVanishing);
  const auto judged =
      parsed(smdebug({"check", folder.path("run"), "--rule",
                      "VanishingGradient", "--action", "stop", "--json"})
                 .out);
  const auto& action = judged.at(0)["actions"].at(0);
  EXPECT_EQ(action["status"], "done");
  EXPECT_THAT(std::string(action["message"]),
              HasSubstr("nothing to stop: the training had already ended"));
}

TEST(JudgingCommands, CheckNoticesAForgottenRule) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const Spoken spoken =
      smdebug({"check", folder.path("run"), "ExplodingTensor"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("no run at 'ExplodingTensor', which is the "
                                    "name of a rule: put --rule before it"));
}

TEST(JudgingCommands, SayHowRulesAreNamed) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const auto said = [&](const std::string& rule) {
    const Spoken spoken =
        smdebug({"check", folder.path("run"), "--rule", rule});
    EXPECT_EQ(spoken.code, 2) << rule;
    return spoken.err;
  };
  EXPECT_THAT(said("VanishingGradient,ExplodingTensor"),
              HasSubstr("; repeat --rule for each rule"));
  for (const char* rule : {"mine:Mine", "mine.txt:Mine", "mine.py.Mine"}) {
    EXPECT_THAT(said(rule), HasSubstr("file is given as file.py:Class"));
  }
  EXPECT_THAT(said("Vanishing"), Not(HasSubstr("file.py")));
}

TEST(JudgingCommands, SayWhichParametersANamedRuleUses) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const std::string note =
      "VanishingGradient uses the documented parameters; without --rule, rules "
      "use tuned ones, which --set preset=tuned selects";
  const std::vector<std::string> named = {"check", folder.path("run"), "--rule",
                                          "VanishingGradient"};
  EXPECT_THAT(smdebug(named).out, HasSubstr("parameters: " + note));
  EXPECT_THAT(
      smdebug({"watch", folder.path("run"), "--rule", "VanishingGradient"}).err,
      HasSubstr("smdebug: " + note));
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{
           {"--set", "preset=tuned"}, {"--json"}, {"--quiet"}}) {
    std::vector<std::string> args = named;
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_THAT(smdebug(args).out, Not(HasSubstr("documented parameters")));
  }
  EXPECT_THAT(smdebug({"check", folder.path("run")}).out,
              Not(HasSubstr("documented parameters")));
}

TEST(JudgingCommands, RefuseARuleThatCanJudgeNothing) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const auto check = [&](const std::string& start, const std::string& end) {
    return smdebug({"check", folder.path("run"), "--rule", "VanishingGradient",
                    "--set", "start_step=" + start, "--set",
                    "end_step=" + end});
  };
  const Spoken spoken = check("10", "5");
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("parameter 'start_step' should be below "
                                    "'end_step' (5) but is 10"));
  EXPECT_EQ(check("5", "5").code, 2);
  EXPECT_EQ(check("4", "5").code, 0);
}

// Watches a run that does not exist, for so many seconds of a clock that does
// not wait.
Spoken watch_in_vain(const std::string& run, const char* seconds) {
  FakeClock clock;
  clock.set_shortest_sleep(std::chrono::seconds(1));
  CliHooks hooks;
  hooks.clock = &clock;
  return smdebug({"watch", run, "--timeout", seconds}, hooks);
}

TEST(JudgingCommands, WatchSaysOnceThatNoRunAppeared) {
  TemporaryFolder folder;
  const std::string run = folder.path("nowhere");
  const Spoken spoken = watch_in_vain(run, "2");
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("waiting for a run: no run at '" + run),
                    HasSubstr("gave up: no run appeared at '" + run +
                              "' in 2 s; check the path")));
  const std::string reason = "the path does not exist";
  EXPECT_EQ(spoken.err.find(reason), spoken.err.rfind(reason));
}

TEST(JudgingCommands, WatchDoesNotRepeatThatItWaits) {
  TemporaryFolder folder;
  const Spoken spoken = watch_in_vain(folder.path("nowhere"), "600");
  EXPECT_EQ(spoken.err.find("waiting for"), spoken.err.rfind("waiting for"))
      << spoken.err;
}

TEST(JudgingCommands, WatchDoesNotClearARunThatWasOverOfStalling) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const Spoken one =
      smdebug({"watch", folder.path("run"), "--rule", "StalledTrainingRule"});
  EXPECT_EQ(one.code, 1) << one.out;
  EXPECT_THAT(one.out, HasSubstr("a run does not record when they were"));
  EXPECT_THAT(smdebug({"watch", folder.path("run")}).out,
              Not(HasSubstr("StalledTrainingRule")));
}

TEST(JudgingCommands, CheckNamesARunThatItCannotReadBelowTheTable) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  // Both streams in one text, as on a terminal.
  std::ostringstream all;
  const std::string run = folder.path("run"), nope = folder.path("nope");
  CliHooks hooks;
  hooks.out = hooks.err = &all;
  const std::vector<std::string> args = {"check", nope, run};
  EXPECT_EQ(smdebug_main(args, hooks), 1);
  const std::string text = all.str();
  ASSERT_NE(text.find("no run at '" + nope), text.npos) << text;
  EXPECT_GT(text.find("no run at '" + nope), text.rfind(run + " ")) << text;
}

TEST(JudgingCommands, WatchThatIsInterruptedDoesNotRepeatThatThereIsNoRun) {
  TemporaryFolder folder;
  const std::string run = folder.path("nowhere");
  FakeClock clock;
  clock.on_sleep = [] { ASSERT_EQ(::raise(SIGINT), 0); };
  CliHooks hooks;
  hooks.clock = &clock;
  const Spoken spoken = smdebug({"watch", run}, hooks);
  EXPECT_EQ(spoken.code, 1);
  const std::string reason = "no run at '";
  EXPECT_EQ(spoken.err.find(reason), spoken.err.rfind(reason)) << spoken.err;
  EXPECT_THAT(spoken.err,
              HasSubstr("interrupted before a run appeared at '" + run));
}

TEST(JudgingCommands, WatchRefusesAFileAtOnce) {
  TemporaryFolder folder;
  const std::string file = folder.path("train.py");
  folder.write("train.py", "");
  const Spoken spoken = smdebug({"watch", file, "--timeout", "60"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_EQ(spoken.err, "smdebug: no run at '" + file +
                            "': it is a file; pass the folder of the run\n");
}

TEST(JudgingCommands, WatchRefusesAFolderThatHoldsRunsAtOnce) {
  TemporaryFolder folder;
  record_run(folder.path("runs/cnn"), kHealthy);
  const Spoken spoken = smdebug({"watch", folder.path("runs")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              HasSubstr("but runs, such as '" + folder.path("runs/cnn") +
                        "'; name one of them"));
}

TEST(JudgingCommands, WatchRefusesAFolderWithinARunAtOnce) {
  TemporaryFolder folder;
  record_run(folder.path("run"), kHealthy);
  const Spoken spoken = smdebug({"watch", folder.path("run/events")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("it is a folder inside the run '" +
                                    folder.path("run") + "'"));
}

TEST(JudgingCommands, AProfilerRuleIsNamedAsOneThatIsNotRun) {
  TemporaryFolder folder;
  const Spoken spoken =
      smdebug({"check", folder.path("run"), "--rule", "profiler_report"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("'profiler_report'"),
                                HasSubstr("does not run profiler rules")));
}

TEST(JudgingCommands, RefuseARuleThatIsGivenTwiceAlike) {
  const Spoken spoken =
      smdebug({"check", "r", "--rule", "DeadRelu", "--rule", "DeadRelu"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("rule 'DeadRelu' is given twice with the "
                                    "same parameters; give it once"));
}

}  // namespace
}  // namespace smdebug
