// Tests the reasons why a location holds no run.

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "smdebug/read/run_folder.h"

#include "read/trial_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StrEq;

class NoRunTest : public testing::Test {
 protected:
  NoRunTest() {
    for (const char* folder :
         {"runs/cnn/collections/000000000", "runs/lstm/collections/000000000",
          "runs/cmn/more/still", "empty"})
      std::filesystem::create_directories(folder_.path(folder));
    folder_.write("file", "text");
  }

  std::string why(const std::string& name) {
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    const auto trial = Trial::open(folder_.path(name), options);
    EXPECT_FALSE(trial.ok());
    if (trial) return "";
    code_ = trial.error().code;
    return trial.error().message;
  }
  std::string no_run(const std::string& name) const {
    return "no run at '" + folder_.path(name) + "': ";
  }

  TemporaryFolder folder_;
  Error::Code code_ = Error::Code::internal;
};

TEST_F(NoRunTest, NamesTheRunNextToAMistypedPath) {
  const std::string nearest = folder_.path("runs/cnn");
  for (const char* typo : {"runs/cn", "runs/CNN2", "run/cnn", "runs/cnn2/"}) {
    EXPECT_THAT(why(typo), HasSubstr("the path does not exist; nearest: '" +
                                     nearest + "'"));
    EXPECT_EQ(code_, Error::Code::not_found);
  }
  EXPECT_THAT(why("empty/cnn"),
              StrEq(no_run("empty/cnn") +
                    "the path does not exist; check it, or list runs with "
                    "'smdebug ls'"));
  EXPECT_THAT(why("runs/other"), Not(HasSubstr("cnn")));
}

TEST_F(NoRunTest, NamesTheRunNextToARelativePath) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path("runs"));
  EXPECT_THAT(no_run_error("cn").message, HasSubstr("nearest: 'cnn'"));
  std::filesystem::current_path(folder_.path());
  EXPECT_THAT(no_run_error("./runs/cn").message,
              HasSubstr("nearest: './runs/cnn'"));
  EXPECT_THAT(no_run_error("rums/cnn").message,
              HasSubstr("nearest: 'runs/cnn'"));
  std::filesystem::current_path(before);
}

TEST_F(NoRunTest, TellsAnEmptyFolderAFileAndAFolderOfRunsApart) {
  EXPECT_THAT(why("empty"),
              StrEq(no_run("empty") +
                    "the folder is empty; list runs with 'smdebug ls'"));
  EXPECT_THAT(why("file"), StrEq(no_run("file") +
                                 "it is a file; pass the folder of the run"));
  EXPECT_THAT(why("runs"),
              StrEq(no_run("runs") +
                    "the folder holds no files of a run, but runs, such as '" +
                    folder_.path("runs/cnn") + "'; name one of them"));
  EXPECT_THAT(why("runs/cmn/more"), HasSubstr("list runs with 'smdebug ls'"));
  std::filesystem::create_symlink("gone", folder_.path("link"));
  EXPECT_THAT(why("link"), HasSubstr("a link to a path that does not exist"));
}

TEST_F(NoRunTest, TellsThatARunLacksItsSteps) {
  folder_.write("empty/run.json", "{}");
  EXPECT_THAT(why("empty"),
              StrEq(no_run("empty") +
                    "the folder holds 'run.json', but no saved step: none was "
                    "saved yet, or the copy of the run is not complete"));
}

TEST_F(NoRunTest, SaysThatItMayBeginLaterAfterAWait) {
  FakeClock clock;
  TrialOptions options;
  options.timeout = std::chrono::seconds(1);
  options.clock = &clock;
  const auto trial = Trial::open(folder_.path("empty"), options);
  ASSERT_FALSE(trial.ok());
  EXPECT_THAT(trial.error().message, HasSubstr("wait longer"));
}

// Another user while it lives, unless the tests run as one already.
class AnotherUser {
 public:
  AnotherUser() { is_changed_ = ::geteuid() == 0 && ::seteuid(65534) == 0; }
  ~AnotherUser() {
    if (is_changed_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  bool is_changed_ = false;
};

TEST_F(NoRunTest, NamesTheRunThatTheUserMayNotRead) {
  const std::string run = folder_.path("runs/cnn");
  ::chmod(folder_.path().c_str(), 0755);
  for (const mode_t mode : {0, 0400, 0100}) {
    ::chmod(run.c_str(), mode);
    const AnotherUser user;
    if (::geteuid() == 0) GTEST_SKIP() << "the tests cannot change the user";
    EXPECT_EQ(why("runs/cnn"), "run '" + run + "' cannot be read by user " +
                                   std::to_string(::geteuid()) +
                                   ": Permission denied");
    EXPECT_EQ(code_, Error::Code::io);
  }
  ::chmod(run.c_str(), 0755);
  ::chmod(folder_.path("runs").c_str(), 0);
  {
    const AnotherUser user;
    EXPECT_THAT(why("runs/cnn"), HasSubstr("cannot be read by user"));
  }
  ::chmod(folder_.path("runs").c_str(), 0755);
}

}  // namespace
}  // namespace smdebug
