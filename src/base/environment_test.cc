#include "base/environment.h"

#include <chrono>
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smdebug {
namespace {

TEST(EnvironmentVariable, TellsUnsetFromEmpty) {
  setenv("SMDEBUG_TEST_VARIABLE", "", 1);
  EXPECT_EQ(environment_variable("SMDEBUG_TEST_VARIABLE"), "");
  unsetenv("SMDEBUG_TEST_VARIABLE");
  EXPECT_EQ(environment_variable("SMDEBUG_TEST_VARIABLE"), std::nullopt);
}

TEST(EnvironmentText, IsEmptyIfTheVariableIsNotSet) {
  setenv("SMDEBUG_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(environment_text("SMDEBUG_TEST_VARIABLE"), "value");
  unsetenv("SMDEBUG_TEST_VARIABLE");
  EXPECT_EQ(environment_text("SMDEBUG_TEST_VARIABLE"), "");
}

TEST(HomeFolder, IsThatOfTheVariableOrTheUser) {
  const auto before = environment_variable("HOME");
  setenv("HOME", "/nowhere", 1);
  EXPECT_EQ(home_folder(), "/nowhere");
  unsetenv("HOME");
  const passwd* const user = getpwuid(geteuid());
  EXPECT_EQ(home_folder(), user ? user->pw_dir : "");
  if (before) setenv("HOME", before->c_str(), 1);
}

TEST(PathOfThisCode, IsThatOfTheTestProgram) {
  EXPECT_NE(path_of_this_code().find("smdebug_base_test"), std::string::npos);
}

TEST(EnvironmentNumber, WarnsOnceOfAValueThatIsNoNumber) {
  class Counter : public Logger {
   public:
    void log(LogLevel, std::string_view message) override {
      ++lines;
      EXPECT_EQ(message,
                "SMDEBUG_TEST_NUMBER must be a non-negative integer, found "
                "'abc'; using 60");
    }
    int lines = 0;
  };
  setenv("SMDEBUG_TEST_NUMBER", "abc", 1);
  Counter logger;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(environment_number("SMDEBUG_TEST_NUMBER", 60, logger), 60);
  EXPECT_EQ(logger.lines, 1);
  unsetenv("SMDEBUG_TEST_NUMBER");
}

TEST(EnvironmentNumber, LeavesTheWarningToTheProcessThatStartedTheTraining) {
  class Silence : public Logger {
   public:
    void log(LogLevel, std::string_view message) override {
      ADD_FAILURE() << message;
    }
  };
  setenv("SMDEBUG_TEST_NUMBER", "of the training", 1);
  setenv("SMDEBUG_RUN", "{}", 1);
  Silence logger;
  EXPECT_EQ(environment_number("SMDEBUG_TEST_NUMBER", 60, logger), 60);
  unsetenv("SMDEBUG_RUN");
  unsetenv("SMDEBUG_TEST_NUMBER");
}

TEST(ProcessStartTicks, IsTheSameEachTime) {
  const auto ticks = process_start_ticks(process_id());
  ASSERT_TRUE(ticks.has_value());
  EXPECT_GT(*ticks, 0u);
  EXPECT_EQ(process_start_ticks(getpid()), ticks);
}

TEST(ProcessStartTicks, IsNotLaterThanThatOfAChild) {
  const auto parent = process_start_ticks(getppid());
  const auto own = process_start_ticks(getpid());
  ASSERT_TRUE(parent && own);
  EXPECT_LE(*parent, *own);
}

TEST(ProcessStartTicks, IsNoneWhereNoProcessLives) {
  // Above the kernel's largest process id, 2^22.
  EXPECT_EQ(process_start_ticks(std::int64_t{1} << 23), std::nullopt);
  EXPECT_EQ(process_start_ticks(-1), std::nullopt);
}

TEST(ProcessStartTicks, IsNoneForAProcessThatHasEndedButIsNotWaitedFor) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT),
            0);
  EXPECT_EQ(process_start_ticks(child), std::nullopt);
  waitpid(child, nullptr, 0);
}

TEST(HostName, IsNotEmpty) { EXPECT_FALSE(host_name().empty()); }

double wall_seconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TEST(Environment, KnowsToATickWhenAProcessStarted) {
  constexpr double kTwoTicks = 0.02;
  const double before = wall_seconds();
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const double after = wall_seconds();
  const auto started = process_start_seconds(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(started);
  EXPECT_GE(*started, before - kTwoTicks);
  EXPECT_LE(*started, after + kTwoTicks);
  EXPECT_EQ(process_start_seconds(0), std::nullopt);
}

}  // namespace
}  // namespace smdebug
