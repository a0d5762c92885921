// Tests `smdebug run` with shell scripts in place of trainings. A script
// "trains" by moving an existing run to the requested folder.

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Sets $out to what the environment asks for.
constexpr const char* kReadRequest =
    "out=$(printf %s \"$SMDEBUG_RUN\" | sed 's/.*\"out_dir\":\"\\([^\"]*\\)\".*"
    "/\\1/')\n";

class RunCommandTest : public testing::Test {
 protected:
  // Runs a script that first puts `recorded` in place, then does `rest`.
  Spoken run_training(const Course& recorded, const std::string& rest,
                      std::vector<std::string> options = {}) {
    record_run(folder_.path("recorded"), recorded);
    // Whole and at once, as a recording appears.
    return run_script(std::string(kReadRequest) + "mv -T " +
                          folder_.path("recorded") + " \"$out\"\n" + rest,
                      std::move(options));
  }

  Spoken run_script(const std::string& script,
                    std::vector<std::string> options = {}) {
    folder_.write("train.sh", script);
    std::vector<std::string> args = {"run", "--out", out_};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", "sh", folder_.path("train.sh")});
    return smdebug(args);
  }

  bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_.path(name));
  }

  TemporaryFolder folder_;
  std::string out_ = folder_.path("out");
};

TEST_F(RunCommandTest, EndsWithASummaryOfAHealthyTraining) {
  const Spoken spoken = run_training(kHealthy, "");
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(
      spoken.err,
      AllOf(HasSubstr("exit code 0"), HasSubstr("10 saved steps, TRAIN 0 to 9"),
            HasSubstr("CrossEntropyLoss_output_0 from 2 to 0.02222 (TRAIN)"),
            HasSubstr("smdebug: nothing found\n"),
            HasSubstr("no issue    ExplodingTensor, StalledTrainingRule\n"),
            HasSubstr("too little  LossNotDecreasing, VanishingGradient; "),
            HasSubstr("cost"), HasSubstr("create_trial(\"" + out_ + "\")")));
  EXPECT_EQ(spoken.out, "");
}

TEST_F(RunCommandTest, TellsWhatFired) {
  const Spoken spoken =
      run_training(kVanishing, "", {"--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("VanishingGradient: IssuesFound"),
                    HasSubstr("gradient/Net_fc.weight: mean |g| 1e-09 is below "
                              "1e-07 at step 6 (TRAIN step 6)"),
                    HasSubstr("advice:")));
}

TEST_F(RunCommandTest, JudgesTheModelsOfAScriptOneAfterTheOther) {
  record_run(folder_.path("second"), kVanishing);
  record_run(folder_.path("third"), kHealthy);
  const Spoken spoken =
      run_training(kHealthy,
                   "mv -T " + folder_.path("second") + " \"$out-model-2\"\n" +
                       "mv -T " + folder_.path("third") + " \"$out-model-3\"\n",
                   {"--rule", "VanishingGradient", "--json"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("VanishingGradient: IssuesFound"),
                    HasSubstr("  models  2 other models, nothing found: " +
                              out_ + ", " + out_ + "-model-3\n"),
                    HasSubstr("  run     " + out_ + "-model-2\n")));
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("\"run\": \"" + out_ + "-model-2\""),
                                HasSubstr("\"outcome\": \"nothing found\"")));
}

TEST_F(RunCommandTest, ExplainsNoFindingByThatOfAnotherModel) {
  record_run(folder_.path("second"), kVanishing);
  const Spoken spoken = run_training(
      kVanishing, "mv -T " + folder_.path("second") + " \"$out-model-2\"\n",
      {"--rule", "VanishingGradient"});
  const std::string text = "VanishingGradient: IssuesFound";
  EXPECT_NE(spoken.err.find(text), spoken.err.rfind(text)) << spoken.err;
  EXPECT_THAT(spoken.err, Not(HasSubstr("can explain it")));
}

TEST_F(RunCommandTest, DoesNotTakeAnotherRunForTheNextModelOfAKilledOne) {
  record_run(folder_.path("other"), kVanishing);
  const Spoken spoken =
      run_script(std::string(kReadRequest) + "mv -T " + folder_.path("other") +
                     " \"$out-model-2\"\n",
                 {"--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("nothing was recorded"));
}

TEST_F(RunCommandTest, StopsATrainingWhenARuleFires) {
  const Spoken spoken = run_training(
      kVanishing, "sleep 600 & wait\ntouch " + folder_.path("went_on"),
      {"--rule", "VanishingGradient", "--stop"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.err, HasSubstr("because VanishingGradient fired"));
  EXPECT_FALSE(exists("went_on"));
}

TEST_F(RunCommandTest, StopsATrainingThatHangsWhereTheRuleIsToldTo) {
  const Spoken spoken = run_script(
      "sleep 600\n", {"--rule", "StalledTrainingRule", "--set", "threshold=0.2",
                      "--set", "stop_training_on_fire=True"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.err, HasSubstr("with no step before"));
}

TEST_F(RunCommandTest, ComparesATrainingWithAnotherRun) {
  record_run(folder_.path("vanishing"), kVanishing);
  const auto compare = [&](const std::string& other) {
    return run_training(kHealthy, "",
                        {"--rule", "SimilarAcrossRuns", "--set",
                         "other_trials=" + folder_.path(other)});
  };
  const Spoken missing = compare("nowhere");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("a run to compare with"));
  std::filesystem::remove_all(folder_.path("recorded"));
  const Spoken differing = compare("vanishing");
  EXPECT_EQ(differing.code, 3);
  EXPECT_THAT(differing.err, HasSubstr("at step 6"));
}

TEST_F(RunCommandTest, LetsATrainingGoOnWithoutStop) {
  const Spoken spoken =
      run_training(kVanishing, "touch " + folder_.path("went_on"),
                   {"--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_TRUE(exists("went_on"));
}

TEST_F(RunCommandTest, PassesOnTheCodeOfATrainerThatFails) {
  EXPECT_EQ(
      run_training(kVanishing, "exit 7", {"--rule", "VanishingGradient"}).code,
      7);
}

TEST_F(RunCommandTest, PassesOnTheSignalThatEndedATrainer) {
  const Spoken spoken = run_training(kHealthy, "kill -KILL $$");
  EXPECT_EQ(spoken.code, 128 + SIGKILL);
  EXPECT_THAT(spoken.err, HasSubstr("ended by signal 9"));
}

TEST_F(RunCommandTest, SaysThatNothingWasRecorded) {
  const Spoken spoken = run_script("exit 0\n");
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("nothing was recorded"),
                                Not(HasSubstr("create_trial"))));
  EXPECT_FALSE(exists("out"));
}

TEST_F(RunCommandTest, TellsWhyTheFirstFileCouldNotBeWritten) {
  const Spoken spoken = run_training(
      kHealthy,
      "rm \"$out/run.json\"\n"
      "sed -i 's/\"error\": *\"\"/\"error\": \"cannot write it: File too "
      "large\"/' \"$out/progress.json\"\n");
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("smdebug: the recording failed"),
                    HasSubstr("cannot write it: File too large"),
                    Not(HasSubstr("none of the requested tensors"))));
}

TEST_F(RunCommandTest, LetsATrainersOwnFailureWinOverNothingRecorded) {
  const Spoken spoken = run_script("exit 5\n");
  EXPECT_EQ(spoken.code, 5);
  EXPECT_THAT(spoken.err, HasSubstr("nothing was recorded"));
}

TEST_F(RunCommandTest, SpeaksJsonWhereAsked) {
  const Spoken spoken =
      run_training(kVanishing, "", {"--json", "--rule", "VanishingGradient"});
  EXPECT_EQ(spoken.code, 3);
  EXPECT_THAT(spoken.out, AllOf(HasSubstr(R"("exit_code": 0)"),
                                HasSubstr(R"("status": "IssuesFound")"),
                                HasSubstr(R"("steps": 10)")));
}

TEST_F(RunCommandTest, AsksTheTrainingForWhatItsRulesNeed) {
  run_script("printf %s \"$SMDEBUG_RUN\" > " + folder_.path("request"),
             {"--rule", "VanishingGradient"});
  std::ostringstream request;
  request << std::ifstream(folder_.path("request")).rdbuf();
  EXPECT_THAT(request.str(), AllOf(HasSubstr("\"out_dir\":\"" + out_ + "\""),
                                   HasSubstr("\"name\":\"gradients\""),
                                   HasSubstr("\"include_workers\":\"all\"")));
}

TEST_F(RunCommandTest, StartsTheTrainerInAGroupOfItsOwn) {
  run_script("cut -d' ' -f5 /proc/$$/stat > " + folder_.path("group") +
             "\necho $$ > " + folder_.path("id"));
  int group = 0, id = 1;
  std::ifstream(folder_.path("group")) >> group;
  std::ifstream(folder_.path("id")) >> id;
  EXPECT_EQ(group, id);
  EXPECT_NE(group, ::getpgrp());
}

TEST_F(RunCommandTest, LeavesNoProcessBehind) {
  run_script("sleep 600 &\necho $! > " + folder_.path("id") + "\nexit 0\n");
  pid_t id = 0;
  std::ifstream(folder_.path("id")) >> id;
  ASSERT_GT(id, 0);
  EXPECT_EQ(::kill(id, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(RunCommandTest, NamesARuleThatIsAnArgumentOfTheScript) {
  const auto note = [this](const std::string& name) {
    return smdebug({"run", "--out", folder_.path(name), "--", "true", "--rule",
                    name})
        .err;
  };
  EXPECT_THAT(note("DeadRelu"), HasSubstr("'--rule DeadRelu' follows '--'"));
  EXPECT_THAT(note("mine"), Not(HasSubstr("follows '--'")));
}

TEST_F(RunCommandTest, NamesAnOptionOfItsOwnAmongThoseOfTheScript) {
  int runs = 0;
  const auto note = [&](std::vector<std::string> options) {
    std::vector<std::string> args = {
        "run", "--out", folder_.path("own_" + std::to_string(++runs)), "--",
        "true"};
    args.insert(args.end(), options.begin(), options.end());
    return smdebug(args).err;
  };
  EXPECT_THAT(note({"x", "--stop"}), HasSubstr("'--stop' follows '--', so"));
  EXPECT_THAT(note({"--stop", "-v"}), HasSubstr("'--stop' follows '--', so"));
  EXPECT_THAT(
      note({"--action", "webhook=http://h/TOKEN"}),
      AllOf(HasSubstr("'--action' follows '--', so"), Not(HasSubstr("TOKEN"))));
  for (const std::vector<std::string>& own :
       {std::vector<std::string>{"--stop", "100"},
        {"--stop=1"},
        {"--action", "train"},
        {"--quiet"},
        {"--out", "x"}}) {
    EXPECT_THAT(note(own), Not(HasSubstr("follows '--'"))) << own[0];
  }
}

TEST_F(RunCommandTest, NamesTheProgramInAQuotedCommand) {
  const Spoken spoken =
      smdebug({"run", "--out", out_, "--", "python train.py"});
  EXPECT_THAT(spoken.err, HasSubstr("remove its quotes: python train.py"));
}

TEST_F(RunCommandTest, SaysThatAProgramCannotBeStarted) {
  const Spoken spoken =
      smdebug({"run", "--out", out_, "--", folder_.path("nowhere")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("cannot start '"),
                                HasSubstr("check the path of the program")));
  EXPECT_FALSE(exists("out"));
  EXPECT_THAT(smdebug({"run", "--out", out_, "--", "pyhton"}).err,
              HasSubstr("no folder of PATH has this program"));
}

TEST_F(RunCommandTest, RefusesAnUnknownRuleBeforeAnythingStarts) {
  const Spoken spoken = run_script("touch " + folder_.path("went_on"),
                                   {"--rule", "VanishingGradients"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("'VanishingGradient'"));
  EXPECT_FALSE(exists("went_on"));
}

TEST_F(RunCommandTest, AsksForTheClassOfARuleInAFile) {
  const Spoken spoken = run_script("exit 0", {"--rule", "mine.py"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("'mine.py:Class'"));
}

TEST_F(RunCommandTest, DoesNotBlameACrashedProgramForTrainingNoModel) {
  const Spoken spoken = run_script("exit 5\n");
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("failed with exit code 5"),
                                Not(HasSubstr("recognized no"))));
}

TEST_F(RunCommandTest, SaysOnceThatNothingWasRecorded) {
  const std::string err = run_script("exit 0\n").err;
  EXPECT_THAT(err, HasSubstr("smdebug: nothing was recorded\n"));
  EXPECT_EQ(err.find("recorded\n"), err.rfind("recorded\n")) << err;
  EXPECT_EQ(err.find("nothing was"), err.rfind("nothing was")) << err;
}

TEST_F(RunCommandTest, GivesTheReasonOfTheProgramWhyNothingWasRecorded) {
  const Spoken spoken =
      run_script(std::string(kReadRequest) +
                 "printf 'an optimizer acts, but no model\\nmore\\n' > "
                 "\"$out/not_recorded.txt\"\n");
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("problem   an optimizer acts, but no model\n"),
                    Not(HasSubstr("more")), Not(HasSubstr("recognized no"))));
  EXPECT_FALSE(exists("out"));
}

TEST_F(RunCommandTest, LeavesNoReasonInARunThatWasRecorded) {
  const Spoken spoken = run_training(
      kHealthy, "echo 'loops without Keras' > \"$out/not_recorded.txt\"\n");
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.err, Not(HasSubstr("loops without Keras")));
  EXPECT_FALSE(exists("out/not_recorded.txt"));
}

TEST_F(RunCommandTest, LeavesNoEmptyFolderOfRunsBehind) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  smdebug({"run", "--", "sh", "-c", "exit 2"});
  std::filesystem::current_path(before);
  EXPECT_FALSE(exists("smdebug-runs"));
}

TEST_F(RunCommandTest, NamesTheTrainingThatItNeedsIfAProgramIsNotPython) {
  const Spoken spoken = smdebug({"run", "--out", out_, "--", "echo", "hi"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("no Python with the package 'smdebug' reported a "
                              "model with PyTorch, "),
                    HasSubstr("from 'echo'; run the command that trains")));
}

// A stand-in for the interpreter: the probe is its only use with `-c`.
TEST_F(RunCommandTest, NamesThePythonThatLacksThePackage) {
  const std::string python = folder_.path("python3");
  const auto answer = [&](int code) {
    folder_.write("python3", "#!/bin/sh\ntest \"$1\" = -c && exit " +
                                 std::to_string(code) + "\nexit 0\n");
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    return smdebug({"run", "--out", out_, "--", python, "train.py"}).err;
  };
  EXPECT_THAT(answer(41), HasSubstr("'" + python +
                                    "' does not have the package 'smdebug': "
                                    "install it with '" +
                                    python + " -m pip install .'"));
  EXPECT_THAT(answer(40),
              AllOf(HasSubstr("smdebug recognized no training of a model with "
                              "PyTorch"),
                    Not(HasSubstr("does not have"))));
  EXPECT_THAT(answer(1),
              HasSubstr("no training of a model with PyTorch, "
                        "TensorFlow, Keras, XGBoost or MXNet, or '"));
  folder_.write("launcher", "#!/usr/bin/env " + python + "\n");
  std::filesystem::permissions(folder_.path("launcher"),
                               std::filesystem::perms::owner_all);
  folder_.write("python3", "#!/bin/sh\ntest \"$1\" = -c && exit 41\nexit 0\n");
  EXPECT_THAT(
      smdebug({"run", "--out", out_, "--", folder_.path("launcher")}).err,
      HasSubstr("'" + python + "' does not have the package"));
}

TEST_F(RunCommandTest, IsQuietAboutAHealthyTrainingIfAskedTo) {
  EXPECT_EQ(run_training(kHealthy, "", {"--quiet"}).err, "");
}

TEST_F(RunCommandTest, RefusesAnUnknownParameter) {
  const Spoken spoken = run_script(
      "exit 0", {"--rule", "VanishingGradient", "--set", "treshold=1"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("'threshold'"));
}

TEST_F(RunCommandTest, TellsWhereRulesInPythonWork) {
  const Spoken spoken = run_script("exit 0", {"--rule", "mine.py:Mine"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("Python package"));
}

TEST_F(RunCommandTest, PassesARuleInPythonToItsLoader) {
  CliHooks hooks;
  std::string asked;
  hooks.load_python_rule =
      [&](const std::string& spec, const auto& given,
          const std::string& run) -> Result<std::unique_ptr<Rule>> {
    asked = spec + " " + given.at("limit") + " " + run;
    return Error{Error::Code::internal, "the rule raised"};
  };
  const Spoken spoken = smdebug({"run", "--out", out_, "--rule", "mine.py:Mine",
                                 "--set", "limit=3", "--", "true"},
                                hooks);
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err, HasSubstr("the rule raised"));
  EXPECT_EQ(asked, "mine.py:Mine 3 " + out_);
}

// Fails at its first step, as the code of a user may, and creates a file.
class FailingRule : public Rule {
 public:
  explicit FailingRule(std::string file) : file_(std::move(file)) {
    identify("Mine", {});
  }
  RuleNeeds needs() const override {
    TensorSelector all;
    all.every_tensor = true;
    return {{all}, RuleNeeds::Depth::statistics, 0};
  }
  Outcome on_step(const RuleStep&) override {
    std::ofstream(file_) << "failed";
    return Error{Error::Code::invalid_argument,
                 "rule Mine failed at step 0: ValueError: no (mine.py:8)"};
  }

 private:
  std::string file_;
};

TEST_F(RunCommandTest, TellsWhenARuleFailsAndOnceMoreInTheSummary) {
  record_run(folder_.path("recorded"), kHealthy);
  // The training continues until the rule has failed.
  folder_.write("train.sh",
                std::string(kReadRequest) + "mv -T " +
                    folder_.path("recorded") + " \"$out\"\nuntil test -e " +
                    folder_.path("failed") + "; do sleep 0.01; done\n");
  CliHooks hooks;
  hooks.load_python_rule = [&](const auto&, const auto&, const auto&) {
    return Result<std::unique_ptr<Rule>>(
        std::make_unique<FailingRule>(folder_.path("failed")));
  };
  const Spoken spoken = smdebug({"run", "--out", out_, "--rule", "mine.py:Mine",
                                 "--", "sh", folder_.path("train.sh")},
                                hooks);
  EXPECT_EQ(spoken.code, 1);
  const std::string failure =
      "rule Mine failed at step 0: ValueError: no (mine.py:8)";
  const auto told = spoken.err.find("smdebug: " + failure +
                                    "; this rule judges no later step\n");
  const auto summary = spoken.err.find("smdebug: a rule failed\n");
  const auto again = spoken.err.find("no verdict  " + failure + "\n");
  EXPECT_LT(told, summary) << spoken.err;
  EXPECT_LT(summary, again) << spoken.err;
  EXPECT_NE(again, std::string::npos) << spoken.err;
  EXPECT_EQ(spoken.err.find(failure, again + 20), std::string::npos);
}

TEST_F(RunCommandTest, InterruptsTheTrainerAndStillTellsTheSummary) {
  // The trainer interrupts this program, as a terminal does for both.
  const Spoken spoken =
      run_training(kHealthy, "kill -INT " + std::to_string(::getpid()) +
                                 "\nsleep 600 &\nwait\n");
  EXPECT_EQ(spoken.code, 128 + SIGINT);
  EXPECT_THAT(spoken.err, AllOf(HasSubstr("interrupted after"),
                                HasSubstr("10 saved steps")));
}

}  // namespace
}  // namespace smdebug
