// Tests `smdebug rm`: what it removes, keeps and refuses.

#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

class RmCommandTest : public testing::Test {
 protected:
  RmCommandTest() {
    record_run(run_, kHealthy);
    record_run(other_, kHealthy);
  }

  // Answers the question on a terminal.
  Spoken answer(const std::string& text, const std::vector<std::string>& args) {
    std::istringstream in(text);
    CliHooks hooks;
    hooks.in = &in;
    hooks.in_is_terminal = true;
    return smdebug(args, hooks);
  }
  // Without a terminal.
  Spoken remove(std::vector<std::string> args) {
    std::istringstream in("y\n");
    CliHooks hooks;
    hooks.in = &in;
    args.insert(args.begin(), "rm");
    return smdebug(args, hooks);
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("runs/a");
  const std::string other_ = folder_.path("runs/b");
};

TEST_F(RmCommandTest, RemovesTheWholeFolderOfARunAndNothingBesideIt) {
  fs::create_directories(run_ + "/rules");
  folder_.write("runs/a/rules/AllZero.json", "{}");
  folder_.write("runs/a/run.json.tmp", "{");
  const Spoken spoken = remove({run_, "--yes"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.err, HasSubstr("removed 1 run ("));
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_TRUE(fs::exists(other_ + "/run.json"));
}

TEST_F(RmCommandTest, AsksOnATerminalWithTheSize) {
  const Spoken spoken = answer("y\n", {"rm", run_, other_});
  EXPECT_THAT(spoken.out, AllOf(HasSubstr(run_), HasSubstr(other_)));
  EXPECT_THAT(spoken.err,
              AllOf(HasSubstr("remove 2 runs ("), HasSubstr(" kB)? [y/N] ")));
  EXPECT_EQ(spoken.code, 0);
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_FALSE(fs::exists(other_));
}

TEST_F(RmCommandTest, RemovesNothingWithoutAYes) {
  for (const char* no : {"", "\n", "n\n", "no\n", "maybe\n", " \n"}) {
    const Spoken spoken = answer(no, {"rm", run_});
    EXPECT_EQ(spoken.code, 1) << no;
    EXPECT_THAT(spoken.err, HasSubstr("nothing was removed")) << no;
    EXPECT_TRUE(fs::exists(run_ + "/run.json")) << no;
  }
}

TEST_F(RmCommandTest, NeedsYesWithoutATerminal) {
  const Spoken spoken = remove({run_});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("add --yes to remove 1 run ("));
  EXPECT_TRUE(fs::exists(run_ + "/run.json"));
}

TEST_F(RmCommandTest, KeepsAndNamesFilesThatAreNoPartOfARun) {
  folder_.write("runs/a/notes.txt", "mine");
  folder_.write("runs/a/index/mine.txt", "mine");
  const Spoken spoken = remove({run_, "--yes"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out, HasSubstr("keeps index/mine.txt, notes.txt"));
  EXPECT_TRUE(fs::exists(run_ + "/notes.txt"));
  EXPECT_TRUE(fs::exists(run_ + "/index/mine.txt"));
  EXPECT_FALSE(fs::exists(run_ + "/run.json"));
  EXPECT_FALSE(fs::exists(run_ + "/events"));
}

TEST_F(RmCommandTest, FollowsNoLinkOutOfTheRun) {
  const std::string events = run_ + "/tensorboard";
  fs::create_directory_symlink(other_, events);
  fs::create_symlink(other_ + "/run.json", run_ + "/refused.smd");
  const Spoken spoken = remove({run_, "--yes"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.out, HasSubstr("keeps refused.smd, tensorboard"));
  EXPECT_TRUE(fs::exists(other_ + "/run.json"));
  EXPECT_TRUE(fs::exists(other_ + "/index/000000000"));
}

TEST_F(RmCommandTest, RefusesALinkToARun) {
  const std::string link = folder_.path("link");
  fs::create_directory_symlink(run_, link);
  for (const std::string& name : {link, link + "/"}) {
    const Spoken spoken = remove({name, "--yes"});
    EXPECT_EQ(spoken.code, 2) << name;
    EXPECT_THAT(spoken.err, HasSubstr("is a link to")) << name;
  }
  EXPECT_TRUE(fs::exists(run_ + "/run.json"));
}

TEST_F(RmCommandTest, RefusesEverythingIfOneOfTheNamesIsNoRun) {
  fs::create_directories(folder_.path("project/events"));
  folder_.write("project/run.json.bak", "");
  for (const std::string& name :
       {folder_.path("project"), folder_.path("runs"), folder_.path("nowhere"),
        folder_.path("runs/a/run.json")}) {
    const Spoken spoken = remove({run_, name, "--yes"});
    EXPECT_EQ(spoken.code, 1) << name;
    EXPECT_THAT(spoken.err, HasSubstr(name));
  }
  EXPECT_THAT(remove({folder_.path("runs/a/run.json"), "--yes"}).err,
              HasSubstr("it is a file; pass the folder of the run"));
  EXPECT_THAT(remove({folder_.path("runs"), "--yes"}).err,
              HasSubstr("but runs, such as '" + run_));
  EXPECT_TRUE(fs::exists(run_ + "/run.json"));
  EXPECT_TRUE(fs::exists(folder_.path("project/events")));
}

TEST_F(RmCommandTest, RefusesARunThatIsBeingWrittenWithoutForce) {
  const std::string live = folder_.path("live");
  record_run(live, kHealthy, true, [&] {
    const Spoken spoken = remove({live, "--yes"});
    EXPECT_EQ(spoken.code, 2);
    EXPECT_THAT(spoken.err,
                AllOf(HasSubstr("is being written"), HasSubstr("--force")));
    EXPECT_TRUE(fs::exists(live + "/run.json"));
  });
  const std::string forced = folder_.path("forced");
  record_run(forced, kHealthy, false, [&] {
    EXPECT_EQ(remove({forced, "--yes", "--force"}).code, 0);
    EXPECT_FALSE(fs::exists(forced));
  });
}

TEST_F(RmCommandTest, RemovesARunThatIsNamedTwiceOnce) {
  const Spoken spoken =
      answer("yes\n", {"rm", run_, run_ + "/", run_ + "/../a"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(spoken.err, HasSubstr("remove 1 run ("));
}

}  // namespace
}  // namespace smdebug
