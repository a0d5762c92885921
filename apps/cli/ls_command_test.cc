// Tests `smdebug ls` on recorded, damaged and hostile runs.

#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/fork_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class LsCommandTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

  // The line of a run in the list of all runs.
  std::string line(const std::string& run) const {
    const Spoken spoken = smdebug({"ls", folder_.path()});
    EXPECT_EQ(spoken.code, 0) << spoken.err;
    std::istringstream lines(spoken.out);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(path(run) + " ")) return line;
    ADD_FAILURE() << run << " is not in:\n" << spoken.out << spoken.err;
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(LsCommandTest, ListsARunWithItsStateStepsAndLoss) {
  record_run(path("a"), kHealthy);
  const std::string shown = line("a");
  EXPECT_THAT(shown, AllOf(HasSubstr("ended"), HasSubstr(" 10 "),
                           HasSubstr("0.02222"), HasSubstr(" s ago")));
}

TEST_F(LsCommandTest, TellsThatAnotherWriterLostItsSteps) {
  record_run(path("a"), kHealthy);
  std::ofstream(path("a") + "/refused.smd") << "unreadable";
  EXPECT_THAT(line("a"),
              AllOf(HasSubstr("ended"), HasSubstr(" 10 "),
                    HasSubstr("a process also tried to write this run: its "
                              "steps were not saved")));
  EXPECT_THAT(smdebug({"ls", folder_.path(), "--json"}).out,
              HasSubstr("also tried to write this run"));
}

TEST_F(LsCommandTest, ListsTheSameForARunWithoutProgress) {
  record_run(path("a"), kHealthy);
  ASSERT_TRUE(fs::remove(path("a") + "/progress.json"));
  EXPECT_THAT(line("a"), AllOf(HasSubstr("ended"), HasSubstr(" 10 "),
                               HasSubstr("0.02222"), HasSubstr(" s ago")));
}

TEST_F(LsCommandTest, TellsThatTheDiskWasTooFullForTheLastFiles) {
  std::map<std::string, std::string> earlier;
  const auto keep = [&] {
    for (const char* name : {"run.json", "progress.json"}) {
      std::ifstream file(path("a/") + name);
      earlier[name] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  };
  const pid_t child = fork_when_others_sleep();  // which is then gone
  if (child == 0) {
    record_run(path("a"), kHealthy, true, keep);
    for (const auto& [name, text] : earlier) folder_.write("a/" + name, text);
    _exit(0);
  }
  int ignored = 0;
  waitpid(child, &ignored, 0);
  EXPECT_THAT(line("a"),
              AllOf(HasSubstr("ended"), HasSubstr(" 10 "),
                    HasSubstr("recording failed: the last files could not be "
                              "written")));
}

TEST_F(LsCommandTest, ShowsTheProgressOfARunWhoseIndexWasRemoved) {
  record_run(path("a"), kHealthy);
  fs::remove_all(path("a") + "/index");
  EXPECT_THAT(line("a"), AllOf(HasSubstr(" 10 "), HasSubstr("0.02222"),
                               HasSubstr("index: missing")));
}

TEST_F(LsCommandTest, ShowsARunThatIsBeingWritten) {
  record_run(path("a"), kHealthy, true,
             [&] { EXPECT_THAT(line("a"), HasSubstr("running")); });
}

TEST_F(LsCommandTest, ShowsThatATrainingWasKilled) {
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    record_run(path("a"), kHealthy, true, [] { raise(SIGKILL); });
    _exit(0);
  }
  int ignored = 0;
  waitpid(child, &ignored, 0);
  EXPECT_THAT(line("a"), HasSubstr("killed"));
}

TEST_F(LsCommandTest, CountsTheStepsThatAKilledTrainingPublishedLast) {
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    record_run(path("a"), kHealthy, true, [] { raise(SIGKILL); });
    _exit(0);
  }
  int ignored = 0;
  waitpid(child, &ignored, 0);
  // `progress.json` is written every few seconds.
  EXPECT_THAT(line("a"), AllOf(HasSubstr(" 10 "), HasSubstr("0.02222")));
}

TEST_F(LsCommandTest, NamesTheRulesOfAHookThatDoNotKnowTheAttempt) {
  record_run(path("a"), kVanishing);
  fs::create_directories(path("a/rules"));
  folder_.write(
      "a/rules/VanishingGradient.json",
      R"({"version": 1, "rule": "VanishingGradient", "status": "IssuesFound",
          "last_modified": "2999-01-01T00:00:00Z", "attempt": 0,
          "lag_steps": 0, "steps": {"last": 9, "judged": 10}})");
  EXPECT_THAT(line("a"), HasSubstr("VanishingGradient"));
}

TEST_F(LsCommandTest, NamesNoRuleOfAHookInAnEarlierAttempt) {
  record_run(path("a"), kVanishing);
  fs::create_directories(path("a/rules"));
  folder_.write(
      "a/rules/VanishingGradient.json",
      R"({"version": 1, "rule": "VanishingGradient", "status": "IssuesFound",
          "last_modified": "2001-01-01T00:00:00Z", "attempt": 0,
          "lag_steps": 0, "steps": {"last": 9, "judged": 10}})");
  EXPECT_THAT(line("a"), Not(HasSubstr("VanishingGradient")));
}

TEST_F(LsCommandTest, NamesTheRulesThatFired) {
  record_run(path("a"), kVanishing);
  record_run(path("b"), kHealthy);
  for (const char* run : {"a", "b"}) {
    smdebug(
        {"watch", path(run), "--rule", "VanishingGradient", "--timeout", "30"});
  }
  EXPECT_THAT(line("a"), HasSubstr("VanishingGradient"));
  EXPECT_THAT(line("b"), HasSubstr("no issue"));
}

TEST_F(LsCommandTest, FindsRunsInFoldersAndBehindLinksButNotInRuns) {
  record_run(path("deep/er/run"), kHealthy);
  record_run(path("a"), kHealthy);
  fs::copy(path("a"), path("copy"), fs::copy_options::recursive);
  fs::create_directories(path("a/attempts"));
  fs::rename(path("copy"), path("a/attempts/1"));
  fs::create_directory_symlink(path("a"), path("link"));
  fs::create_directory_symlink(folder_.path(), path("loop"));
  fs::create_directories(path(".hidden"));
  fs::copy(path("a"), path(".hidden/run"), fs::copy_options::recursive);
  const Spoken spoken = smdebug({"ls", folder_.path(), "--json"});
  EXPECT_THAT(spoken.out,
              AllOf(HasSubstr("deep/er/run"), HasSubstr("/link"),
                    Not(HasSubstr("attempts/")), Not(HasSubstr("hidden")),
                    Not(HasSubstr("loop/"))));
}

TEST_F(LsCommandTest, ListsTheNewestRunFirst) {
  record_run(path("a"), kHealthy);
  record_run(path("b"), kHealthy);
  const std::string out = smdebug({"ls", folder_.path()}).out;
  EXPECT_LT(out.find(path("b")), out.find(path("a")));
}

TEST_F(LsCommandTest, ShowsAHostileRunWithTheReasonAndTheOthers) {
  record_run(path("good"), kHealthy);
  for (const char* name : {"a", "b", "c", "d"})
    fs::create_directories(path(name) + "/collections/000000000");
  folder_.write("a/progress.json", std::string(1 << 20, '['));
  folder_.write("b/claim.smd", "\xff");
  ASSERT_EQ(mkfifo((path("b") + "/progress.json").c_str(), 0600), 0);
  folder_.write("c/collections/000000000/worker_0_collections.json", "{");
  fs::create_symlink("/etc/passwd", path("d/progress.json"));
  fs::create_symlink("/", path("d/index"));
  EXPECT_THAT(line("good"), HasSubstr("ended"));
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_NE(line(name), "");
}

TEST_F(LsCommandTest, ReadsARunWhoseProgressIsDamagedAndShowsTheDamage) {
  record_run(path("a"), kHealthy);
  folder_.write("a/progress.json", "{\"version\": 1");
  EXPECT_THAT(line("a"), AllOf(HasSubstr(" 10 "), HasSubstr("0.02222"),
                               HasSubstr("progress.json")));
}

TEST_F(LsCommandTest, NamesTheStatusesThatItCannotRead) {
  record_run(path("a"), kHealthy);
  fs::create_directory(path("a/rules"));
  folder_.write("a/rules/AllZero.json", "{");
  EXPECT_THAT(line("a"), HasSubstr("rules/AllZero.json: "));
  EXPECT_THAT(line("a"), Not(HasSubstr("more in rules")));
  folder_.write("a/rules/Overfit.json", "[]");
  EXPECT_THAT(line("a"), AllOf(HasSubstr("rules/AllZero.json: "),
                               HasSubstr("(and 1 more in rules)")));
}

TEST_F(LsCommandTest, PrintsJson) {
  record_run(path("a"), kHealthy);
  EXPECT_THAT(smdebug({"ls", folder_.path(), "--json"}).out,
              AllOf(HasSubstr(R"("state": "ended")"),
                    HasSubstr(R"("steps": 10)"), HasSubstr(R"("last_step": 9)"),
                    HasSubstr(R"("tensor": "CrossEntropyLoss_output_0")"),
                    HasSubstr(R"("framework": "pytorch")")));
}

TEST_F(LsCommandTest, CountsTheStepsOfARunWhoseOldestWereRemoved) {
  record_run(path("a"), kHealthy);
  // As `max_run_bytes` leaves it.
  std::ifstream file(path("a/progress.json"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string none = R"("removed_steps": 0)";
  text.replace(text.find(none), none.size(), R"("removed_steps": 4)");
  folder_.write("a/progress.json", text);
  for (int step = 0; step < 4; ++step)
    fs::remove(path("a/index/000000000/00000000000") + std::to_string(step) +
               "_worker_0.json");
  EXPECT_THAT(line("a"), HasSubstr("  6  "));
}

TEST_F(LsCommandTest, ListsTheUsualFolderOrElseTheWorkingDirectory) {
  record_run(path("a"), kHealthy);
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  EXPECT_THAT(smdebug({"ls"}).out, HasSubstr("\na  "));
  record_run(path("smdebug-runs/b"), kHealthy);
  EXPECT_THAT(smdebug({"ls"}).out,
              AllOf(HasSubstr("\nsmdebug-runs/b  "), Not(HasSubstr("\na  "))));
  fs::current_path(before);
}

TEST_F(LsCommandTest, FailsWithoutTheFolder) {
  const Spoken spoken = smdebug({"ls", path("nowhere")});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("cannot list the folder"), HasSubstr("nowhere")));
}

TEST_F(LsCommandTest, SaysSoIfThereAreNoRuns) {
  const Spoken spoken = smdebug({"ls", folder_.path()});
  EXPECT_EQ(spoken.code, 0);
  EXPECT_EQ(spoken.out, "");
  EXPECT_THAT(spoken.err, HasSubstr("no runs below"));
}

}  // namespace
}  // namespace smdebug
