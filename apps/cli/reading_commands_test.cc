// Tests show, tensor, rules, check and watch on small recorded runs.

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/fork_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ReadingCommands : public testing::Test {
 protected:
  ReadingCommands() {
    record_run(healthy_, kHealthy);
    record_run(vanishing_, kVanishing);
  }

  // On a clock on which each sleep takes at least that long.
  static Spoken with_sleeps_of(std::chrono::seconds shortest,
                               const std::vector<std::string>& args) {
    FakeClock clock;
    clock.set_shortest_sleep(shortest);
    CliHooks hooks;
    hooks.clock = &clock;
    return smdebug(args, hooks);
  }

  TemporaryFolder folder_;
  std::string healthy_ = folder_.path("healthy");
  std::string vanishing_ = folder_.path("vanishing");
};

TEST_F(ReadingCommands, CheckFindsNothingInAHealthyRun) {
  const Spoken spoken =
      smdebug({"check", healthy_, "--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("NoIssuesFound"),
                                HasSubstr("nothing found in 10 steps")));
}

TEST_F(ReadingCommands, CheckTellsWhatFiredInOneOfSeveralRuns) {
  const Spoken spoken =
      smdebug({"check", healthy_, vanishing_, "--rule", "vanishing_gradient"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.out,
              HasSubstr("gradient/Net_fc.weight: mean |g| 1e-09 is below 1e-07 "
                        "at step 6 (TRAIN step 6)"));
}

TEST_F(ReadingCommands, CheckGivesEachRuleItsOwnParameters) {
  const Spoken spoken =
      smdebug({"check", healthy_, "--rule", "VanishingGradient", "--set",
               "threshold=0.6", "--rule", "ExplodingTensor", "--set",
               "only_nan=true", "--json"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.out, AllOf(HasSubstr(R"("rule": "VanishingGradient")"),
                                HasSubstr(R"("threshold": 0.6)"),
                                HasSubstr(R"("rule": "ExplodingTensor")")));
}

TEST_F(ReadingCommands, CheckJudgesWithTheDefaultSetWhereNoRuleIsNamed) {
  const Spoken spoken = smdebug({"check", healthy_});
  EXPECT_EQ(spoken.code, 0) << spoken.out;
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("VanishingGradient"),
                                HasSubstr("ExplodingTensor"),
                                HasSubstr("LossNotDecreasing")));
}

TEST_F(ReadingCommands, CheckSaysThatThereWasNothingToJudge) {
  const Spoken spoken = smdebug({"check", healthy_, "--rule", "ExplodingTensor",
                                 "--set", "tensor_regex=gradient/Met"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("nothing to judge"),
                                HasSubstr("'gradient/Net_fc.weight'")));
}

TEST_F(ReadingCommands, CheckGoesOnAfterARunThatIsNotThere) {
  const Spoken spoken = smdebug({"check", folder_.path("nowhere"), vanishing_,
                                 "--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.out, HasSubstr("IssuesFound"));
  EXPECT_THAT(spoken.err, HasSubstr("nowhere"));
}

TEST_F(ReadingCommands, CheckHasNoVerdictOfARunThatIsNotThere) {
  const Spoken text = smdebug({"check", folder_.path("nowhere")});
  EXPECT_EQ(text.code, 1);
  EXPECT_EQ(text.out, "");
  EXPECT_THAT(text.err, HasSubstr("smdebug: no run at '"));
  const Spoken json = smdebug({"check", folder_.path("nowhere"), "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, AllOf(HasSubstr(R"("verdicts": [])"),
                              HasSubstr(R"("error": "no run at)")));
}

TEST_F(ReadingCommands, TensorNamesTheNearestSteps) {
  const std::string name = "gradient/Net_fc.weight";
  EXPECT_THAT(smdebug({"tensor", healthy_, name, "--step", "12"}).err,
              HasSubstr("; nearest: 9"));
  const std::string gap = folder_.path("gap");
  record_run(gap, kHealthy);
  for (const char* step : {"4", "5"}) {
    std::filesystem::remove(gap + "/index/000000000/00000000000" + step +
                            "_worker_0.json");
  }
  EXPECT_THAT(smdebug({"tensor", gap, name, "--step", "4"}).err,
              HasSubstr("; nearest: 3, 6"));
}

TEST_F(ReadingCommands, TensorKnowsANameThatIsOfASeries) {
  const std::string run = folder_.path("with_series");
  SessionOptions options;
  options.config.out_dir = run;
  options.framework = pytorch_framework();
  NullLogger silent;
  options.logger = &silent;
  {
    const auto session = *Session::create(std::move(options));
    const ScalarSlot rate = session->scalar("learning_rate/Adam/0");
    session->begin_step();
    rate.note(0.1);
    session->save_scalar("count", 1);
    session->end_step();
    ASSERT_TRUE(session->close().ok());
  }
  const Spoken spoken = smdebug({"tensor", run, "learning_rate/Adam/0"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("is not a tensor but a series of numbers"),
                    HasSubstr("trial.series(\"learning_rate/Adam/0\")")));
  EXPECT_THAT(smdebug({"explain", run, "learning_rate/Adam/0"}).out,
              HasSubstr("learning_rate/Adam/0: not a tensor but a series of "
                        "numbers; read it in Python with"));
  EXPECT_THAT(smdebug({"tensor", run, "learning_rate/Adam"}).err,
              HasSubstr("no tensor 'learning_rate/Adam'"));
}

TEST_F(ReadingCommands, TensorAndExplainKnowTheNameOfACollection) {
  EXPECT_THAT(smdebug({"tensor", healthy_, "gradients"}).err,
              HasSubstr("is not a tensor but a collection; its tensors are '"));
  EXPECT_THAT(smdebug({"explain", healthy_, "biases", "5"}).out,
              StartsWith("biases: not a tensor but a collection; no tensor of "
                         "it was saved"));
}

TEST_F(ReadingCommands, NameTheRunOfAFolderInsideIt) {
  for (const char* inside : {"/events", "/index/000000000"}) {
    EXPECT_THAT(smdebug({"show", healthy_ + inside}).err,
                HasSubstr("it is a folder inside the run '" + healthy_ + "'"))
        << inside;
  }
}

TEST_F(ReadingCommands, StepsAndOptionsAreRefusedInOurWords) {
  const std::string name = "gradient/Net_fc.weight";
  EXPECT_THAT(smdebug({"tensor", healthy_, name, "--step", "ten"}).err,
              HasSubstr("STEP: 'ten' should be a whole number"));
  EXPECT_THAT(smdebug({"explain", healthy_, name, "x"}).err,
              HasSubstr("STEP: 'x' should be a whole number"));
  EXPECT_THAT(smdebug({"explain", healthy_, name, "1", "--step", "2"}).err,
              HasSubstr("--step: give only one value"));
  EXPECT_THAT(smdebug({"check", healthy_, "--rule"}).err,
              HasSubstr("--rule: its value is missing"));
  EXPECT_THAT(smdebug({"run", "--out", "", "--", "true"}).err,
              HasSubstr("--out: the name is empty"));
}

TEST_F(ReadingCommands, CheckNamesTheNearestCollection) {
  const Spoken spoken = smdebug({"check", healthy_, "--rule", "AllZero",
                                 "--set", "collection_names=gradeints"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.out, HasSubstr("no collection 'gradeints'; nearest: "
                                    "'gradients'"));
}

TEST_F(ReadingCommands, CheckNamesTheFrameworkThatARuleJudges) {
  EXPECT_THAT(smdebug({"check", healthy_, "--rule", "TreeDepth"}).out,
              HasSubstr("TreeDepth judges the tensors of XGBoost"));
}

TEST_F(ReadingCommands, ShowGivesTheReasonsOfCheck) {
  smdebug({"watch", healthy_, "--timeout", "30"});
  const std::string shown = smdebug({"show", healthy_}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("not applicable: "),
                           HasSubstr("LossNotDecreasing: too little to judge: "
                                     "10 steps are too few"),
                           HasSubstr("VanishingGradient: too little to judge"),
                           HasSubstr("ExplodingTensor: NoIssuesFound"),
                           Not(HasSubstr("Error"))));
}

TEST_F(ReadingCommands, ShowDoesNotCallATrainingFinishedThatMayHaveFailed) {
  EXPECT_THAT(smdebug({"show", healthy_}).out, Not(HasSubstr("finished")));
}

TEST_F(ReadingCommands, CheckComparesWithAnotherRun) {
  const std::string twin = folder_.path("twin");
  record_run(twin, kHealthy);
  const Spoken alike =
      smdebug({"check", healthy_, "--rule", "SimilarAcrossRuns", "--set",
               "other_trials=" + twin});
  EXPECT_EQ(alike.code, 0) << alike.out;
  EXPECT_THAT(alike.out, HasSubstr("nothing found in 10 steps"));
  const Spoken differing =
      smdebug({"check", healthy_, "--rule", "SimilarAcrossRuns", "--set",
               "other_trials=" + twin + "," + vanishing_, "--rule",
               "VanishingGradient"});
  EXPECT_EQ(differing.code, 3);
  EXPECT_THAT(differing.out,
              AllOf(HasSubstr("gradient/Net_fc.weight differs in 6 of 6 "
                              "elements, most where 0.5 is 1e-09 there, in run "
                              "'" +
                              vanishing_ + "', at step 6"),
                    // The other run is not judged by rules of this one.
                    HasSubstr("NoIssuesFound")));
}

TEST_F(ReadingCommands, CheckSaysThatTheOtherRunIsNotThere) {
  const Spoken spoken =
      smdebug({"check", healthy_, "--rule", "SimilarAcrossRuns", "--set",
               "other_trials=" + folder_.path("nowhere")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("a run to compare with"), HasSubstr("nowhere")));
}

TEST_F(ReadingCommands, WatchEndsWithTheRun) {
  const Spoken spoken =
      smdebug({"watch", healthy_, "--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out,
              AllOf(StartsWith("smdebug: nothing found\n  training  ended\n"),
                    HasSubstr("\n  no issue  VanishingGradient\n"),
                    HasSubstr("\n  run       " + healthy_ + "\n")));
}

TEST_F(ReadingCommands, WatchEndsWithTenLinesOrTwelveIfARuleFired) {
  const auto lines = [](const std::string& text) {
    return std::ranges::count(text, '\n');
  };
  const Spoken healthy = smdebug({"watch", healthy_});
  EXPECT_THAT(healthy.out, StartsWith("smdebug: nothing found\n"));
  EXPECT_LE(lines(healthy.out), 10) << healthy.out;
  const Spoken fired =
      smdebug({"watch", vanishing_, "--rule", "VanishingGradient"});
  EXPECT_THAT(fired.out, AllOf(HasSubstr("\n  found "), HasSubstr("\n  try ")));
  EXPECT_LE(lines(fired.out), 12) << fired.out;
}

TEST_F(ReadingCommands, WatchIsQuietAboutAHealthyTrainingIfAskedTo) {
  const Spoken healthy = smdebug({"watch", healthy_, "--quiet"});
  EXPECT_EQ(healthy.out + healthy.err, "");
  const Spoken fired =
      smdebug({"watch", vanishing_, "--quiet", "--rule", "VanishingGradient"});
  EXPECT_THAT(fired.out, HasSubstr("\n  found "));
}

TEST_F(ReadingCommands, WatchShowsEachRuleIfAskedTo) {
  EXPECT_THAT(smdebug({"watch", healthy_}).out, Not(HasSubstr("TreeDepth")));
  EXPECT_THAT(smdebug({"watch", healthy_, "--verbose"}).out,
              HasSubstr("TreeDepth: Error: nothing to judge: "));
}

TEST_F(ReadingCommands, WatchShowsTheEvidenceIfAskedTo) {
  const std::vector<std::string> words = {"watch", vanishing_, "--rule",
                                          "VanishingGradient"};
  EXPECT_THAT(smdebug(words).err, Not(HasSubstr("threshold\n")));
  auto verbose = words;
  verbose.emplace_back("--verbose");
  EXPECT_THAT(smdebug(verbose).err, HasSubstr("threshold\n"));
}

TEST_F(ReadingCommands, CheckShowsOnlyFindingsAndProblemsIfAskedTo) {
  EXPECT_EQ(smdebug({"check", healthy_, "--quiet"}).out, "");
  const Spoken fired = smdebug({"check", healthy_, vanishing_, "--quiet",
                                "--rule", "VanishingGradient"});
  EXPECT_EQ(fired.code, 3);
  EXPECT_THAT(
      fired.out,
      AllOf(HasSubstr("IssuesFound"), HasSubstr("diagnosis of " + vanishing_),
            Not(HasSubstr("NoIssuesFound")), Not(HasSubstr(healthy_))));
  const Spoken named =
      smdebug({"check", healthy_, "--quiet", "--rule", "TreeDepth"});
  EXPECT_THAT(named.out, HasSubstr("nothing to judge"));
}

TEST_F(ReadingCommands, CheckTellsWhatTheUserNamedAndTheRunLacks) {
  const auto check = [&](const char* given) {
    const Spoken spoken =
        smdebug({"check", healthy_, "--rule", "LossNotDecreasing", "--set",
                 "num_steps=5", "--set", given});
    EXPECT_EQ(spoken.code, 0) << spoken.err;
    return spoken.out;
  };
  EXPECT_THAT(check("collection_names=gradient"),
              HasSubstr("; no tensor of the run belongs to collection "
                        "'gradient' (nearest: 'gradients')\n"));
  EXPECT_THAT(check("tensor_regex=my_los"),
              HasSubstr("no tensor of the run belongs to pattern 'my_los'"));
  EXPECT_THAT(check("tensor_regex=CrossEntropy"),
              Not(HasSubstr("no tensor of the run belongs")));
}

TEST_F(ReadingCommands, CheckShowsEachRuleIfAskedTo) {
  EXPECT_THAT(smdebug({"check", healthy_, "--verbose"}).out,
              AllOf(HasSubstr("TreeDepth"), HasSubstr("nothing to judge: "),
                    Not(HasSubstr("not applicable"))));
}

TEST_F(ReadingCommands, CheckShowsTheEvidenceIfAskedTo) {
  const std::vector<std::string> words = {"check", vanishing_, "--rule",
                                          "VanishingGradient"};
  EXPECT_THAT(smdebug(words).out, Not(HasSubstr("threshold\n")));
  auto verbose = words;
  verbose.emplace_back("--verbose");
  EXPECT_THAT(
      smdebug(verbose).out,
      AllOf(HasSubstr(vanishing_ + ": VanishingGradient: IssuesFound\n"),
            HasSubstr("threshold\n")));
}

TEST_F(ReadingCommands, WatchEndsWhenTheTrainingWasKilled) {
  const std::string killed = folder_.path("killed");
  const pid_t trainer = fork_when_others_sleep();
  if (trainer == 0) {
    record_run(killed, kHealthy, /*ends=*/false, [] { raise(SIGKILL); });
    _exit(0);
  }
  int how = 0;
  waitpid(trainer, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how));
  const Spoken healthy =
      smdebug({"watch", killed, "--rule", "VanishingGradient"});
  EXPECT_EQ(healthy.code, 1);
  EXPECT_THAT(healthy.err, HasSubstr("exited without an end marker"));
  EXPECT_THAT(healthy.out, StartsWith("smdebug: nothing found\n"
                                      "  training  killed or crashed\n"
                                      "  steps     10 saved steps"));
  const Spoken fired =
      smdebug({"watch", killed, "--rule", "VanishingGradient", "--set",
               "threshold=0.6", "--rule", "LossNotDecreasing"});
  EXPECT_EQ(fired.code, 3);
  EXPECT_THAT(fired.err, HasSubstr("exited without an end marker"));
}

TEST_F(ReadingCommands, WatchGivesUpARunThatGrowsNoMore) {
  const std::string cut_off = folder_.path("cut_off");
  record_run(cut_off, kHealthy, /*ends=*/false);
  const Spoken spoken = with_sleeps_of(
      std::chrono::minutes(1),
      {"watch", cut_off, "--rule", "VanishingGradient", "--timeout", "300"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("no new step for 300 s"));
  EXPECT_EQ(
      with_sleeps_of(std::chrono::minutes(1),
                     {"watch", folder_.path("nowhere"), "--timeout", "300"})
          .code,
      1);
}

TEST_F(ReadingCommands, WatchContinuesAfterItsOnlyRuleHasFired) {
  const std::string cut_off = folder_.path("cut_off");
  record_run(cut_off, kVanishing, /*ends=*/false);
  const Spoken spoken = with_sleeps_of(
      std::chrono::minutes(1),
      {"watch", cut_off, "--rule", "VanishingGradient", "--timeout", "300"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(
      spoken.err,
      AllOf(HasSubstr("VanishingGradient: IssuesFound"), HasSubstr("step 9, "),
            HasSubstr("loss 0.02222"), HasSubstr("VanishingGradient fired"),
            HasSubstr("no new step for 300 s")));
}

TEST_F(ReadingCommands, WatchRepeatsNoStatusWithoutANewStep) {
  const std::string cut_off = folder_.path("cut_off");
  record_run(cut_off, kVanishing, /*ends=*/false);
  const std::string err =
      with_sleeps_of(std::chrono::minutes(1),
                     {"watch", cut_off, "--rule", "VanishingGradient",
                      "--timeout", "3600"})
          .err;
  EXPECT_NE(err.find(": step 9, "), err.npos);
  EXPECT_EQ(err.find(": step 9, "), err.rfind(": step 9, ")) << err;
}

TEST_F(ReadingCommands, WatchSaysAtOnceWhatItWaitsFor) {
  const Spoken spoken =
      with_sleeps_of(std::chrono::seconds(1),
                     {"watch", folder_.path("later"), "--timeout", "1"});
  EXPECT_THAT(spoken.err, StartsWith("smdebug: waiting for a run: no run at '" +
                                     folder_.path("later") + "'"));
}

TEST_F(ReadingCommands, NameTheNearestRunForAMistypedPath) {
  const std::string typo = folder_.path("healty");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"show", typo},
                                             {"check", typo},
                                             {"check", typo, "--json"},
                                             {"tensor", typo, "loss"},
                                             {"explain", typo, "loss"},
                                             {"report", typo},
                                             {"rm", typo, "--yes"}}) {
    const Spoken spoken = smdebug(command);
    EXPECT_EQ(spoken.code, 1) << command[0];
    EXPECT_THAT(
        spoken.out + spoken.err,
        HasSubstr("no run at '" + typo +
                  "': the path does not exist; nearest: '" + healthy_ + "'"));
  }
  EXPECT_THAT(
      with_sleeps_of(std::chrono::seconds(1), {"watch", typo, "--timeout", "1"})
          .err,
      HasSubstr("nearest: '" + healthy_ + "'"));
}

TEST_F(ReadingCommands, CheckHasOneLineForAllRulesThatDoNotApply) {
  const Spoken spoken = smdebug({"check", healthy_});
  EXPECT_EQ(spoken.code, 0);
  EXPECT_THAT(spoken.out,
              AllOf(HasSubstr("not applicable to " + healthy_ + ": "),
                    Not(HasSubstr("pattern")), Not(HasSubstr("Error"))));
  EXPECT_EQ(spoken.out.find("TreeDepth"), spoken.out.rfind("TreeDepth"));
}

TEST_F(ReadingCommands, WatchFindsATrainingThatHangs) {
  const std::string cut_off = folder_.path("cut_off");
  record_run(cut_off, kHealthy, /*ends=*/false);
  FakeClock clock;
  clock.set_shortest_sleep(std::chrono::minutes(1));
  CliHooks hooks;
  hooks.clock = &clock;
  const Spoken after_ten =
      smdebug({"watch", cut_off, "--rule", "StalledTrainingRule"}, hooks);
  EXPECT_EQ(after_ten.code, 3);
  EXPECT_THAT(after_ten.err,
              HasSubstr("no new step for 1800 s since step 9 (TRAIN step 9)"));
  const Spoken before_the_first = smdebug(
      {"watch", folder_.path("nowhere"), "--rule", "StalledTrainingRule"},
      hooks);
  EXPECT_EQ(before_the_first.code, 3);
  EXPECT_THAT(before_the_first.err, HasSubstr("with no step before"));
}

TEST_F(ReadingCommands, ShowTellsWhatARunHolds) {
  const Spoken spoken = smdebug({"show", vanishing_});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(
      spoken.out,
      AllOf(HasSubstr("python train.py"),
            HasSubstr("10 saved, TRAIN 10 (0 to "
                      "9)"),
            HasSubstr("worker_0"), HasSubstr("gradients"),
            HasSubstr("gradient/Net_fc.weight"),
            HasSubstr("CrossEntropyLoss_output_0 2 to 0.02222 in 10 steps"),
            HasSubstr("cost"), HasSubstr("ended"), Not(HasSubstr("damage"))));
}

TEST_F(ReadingCommands, ShowSpeaksJson) {
  const Spoken spoken = smdebug({"show", vanishing_, "--json"});
  EXPECT_THAT(spoken.out, AllOf(StartsWith("{"), HasSubstr(R"("steps": 10)"),
                                HasSubstr(R"("mode": "TRAIN")"),
                                HasSubstr(R"("damage": [])")));
}

TEST_F(ReadingCommands, ShowNamesARunThatDoesNotDescribeItsModel) {
  const Spoken spoken = smdebug({"show", vanishing_, "--model"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("(recorded with pytorch) does not "
                                          "describe its model"),
                                HasSubstr("hooks for PyTorch, Keras and MXNet"),
                                HasSubstr("'smdebug show' without --model")));
}

TEST_F(ReadingCommands, ShowTellsOfDamage) {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(healthy_ + "/index")) {
    if (entry.path().filename().string().starts_with("000000000003")) {
      std::ofstream(entry.path()) << "{broken";
    }
  }
  const Spoken spoken = smdebug({"show", healthy_});
  EXPECT_EQ(spoken.code, 0);
  EXPECT_THAT(spoken.out,
              AllOf(HasSubstr("damage"), HasSubstr("000000000003")));
}

TEST_F(ReadingCommands, ShowNamesTheErrorThatEndedTheRecording) {
  nlohmann::json run =
      nlohmann::json::parse(std::ifstream(folder_.path("healthy/run.json")));
  run["attempts"][0]["status"] = "No space left on device";
  folder_.write("healthy/run.json", run.dump());
  EXPECT_THAT(smdebug({"show", healthy_}).out,
              HasSubstr("ended, but not all of it was recorded: No space left "
                        "on device\n"));
  // On a full disk, the worker cannot complete `run.json` either.
  run["attempts"][0]["status"] = "running";
  run["attempts"][0]["ended"] = nullptr;
  run["attempts"][0]["host"] = "elsewhere";
  folder_.write("healthy/run.json", run.dump());
  EXPECT_THAT(smdebug({"show", healthy_}).out,
              HasSubstr("the last files could not be written\n"));
  const auto json =
      nlohmann::json::parse(smdebug({"show", healthy_, "--json"}).out);
  EXPECT_EQ(json["recording_failure"], "the last files could not be written");
}

TEST_F(ReadingCommands, ShowNamesTheExceptionThatEndedTheTraining) {
  nlohmann::json run =
      nlohmann::json::parse(std::ifstream(folder_.path("healthy/run.json")));
  run["attempts"][0]["raised"] = "ValueError";
  folder_.write("healthy/run.json", run.dump());
  EXPECT_THAT(smdebug({"show", healthy_}).out,
              testing::ContainsRegex("state +ended by ValueError\n"));
}

TEST_F(ReadingCommands, ShowFailsWhereNoRunIs) {
  const Spoken spoken = smdebug({"show", folder_.path("nowhere")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("nowhere"));
}

TEST_F(ReadingCommands, TensorShowsATableOverSteps) {
  const Spoken spoken =
      smdebug({"tensor", vanishing_, "gradient/Net_fc.weight"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("mean |x|"), HasSubstr("(2, 3)"),
                                HasSubstr("9 (TRAIN 9)"), HasSubstr("1e-09")));
}

TEST_F(ReadingCommands, TensorShowsTheElementsOfOneStep) {
  const Spoken spoken = smdebug({"tensor", healthy_, "gradient/Net_fc.weight",
                                 "--step", "3", "--mode", "train"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out,
              AllOf(HasSubstr("float32"),
                    HasSubstr("[0.5, -0.5, 0.5, -0.5, 0.5, -0.5]")));
}

TEST_F(ReadingCommands, TensorSaysWhatThereIsInstead) {
  EXPECT_THAT(smdebug({"tensor", healthy_, "gradient/Net_fc.weigth"}).err,
              HasSubstr("'gradient/Net_fc.weight'"));
  const Spoken spoken =
      smdebug({"tensor", healthy_, "gradient/Net_fc.weight", "--step", "99"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("10 TRAIN steps from 0 to 9"));
  EXPECT_THAT(smdebug({"tensor", healthy_, "gradient/Net_fc.weight", "--worker",
                       "worker_7"})
                  .err,
              HasSubstr("worker_0"));
}

TEST_F(ReadingCommands, TensorSaysInWhichModesATensorWasSaved) {
  const Spoken spoken =
      smdebug({"tensor", healthy_, "gradient/Net_fc.weight", "--mode", "EVAL"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("was not saved at any EVAL step"),
                    HasSubstr("saved: 10 TRAIN steps from 0 to 9\n")));
}

TEST_F(ReadingCommands, ExplainFailsForANameThatTheRunDoesNotKnow) {
  const Spoken spoken = smdebug({"explain", healthy_, "Net_fc.weigth"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("the run has no tensor of this name"),
                                HasSubstr("similar names: ")));
}

TEST_F(ReadingCommands, ExplainTakesTheStepLikeTensor) {
  const std::vector<std::string> ask = {"explain", healthy_,
                                        "gradient/Net_fc.weight"};
  auto by_position = ask;
  by_position.push_back("99");
  auto by_name = ask;
  by_name.insert(by_name.end(), {"--step", "99"});
  EXPECT_THAT(smdebug(by_name).out,
              HasSubstr("the run has ended; its last saved step is 9"));
  EXPECT_EQ(smdebug(by_name).out, smdebug(by_position).out);
}

TEST(RulesCommand, ListsRulesAndExplainsOne) {
  EXPECT_THAT(smdebug({"rules"}).out, HasSubstr("LossNotDecreasing"));
  EXPECT_THAT(smdebug({"rules", "vanishing_gradient"}).out,
              AllOf(HasSubstr("threshold"), HasSubstr("1e-7"),
                    HasSubstr("Fires when")));
  EXPECT_THAT(smdebug({"rules", "--json"}).out,
              AllOf(StartsWith("["), HasSubstr(R"("default": "1e-7")")));
  EXPECT_EQ(smdebug({"rules", "Vanish"}).code, 2);
}

TEST(RulesCommand, HasALineForEachPartOfALongDefault) {
  const std::string text = smdebug({"rules", "DeadRelu"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("list     .*relu_output,  "),
                          HasSubstr("\n                                 "
                                    ".*ReLU_output,  ")));
}

}  // namespace
}  // namespace smdebug
