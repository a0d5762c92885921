#include "smdebug/actions/stop_process.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/result_matchers_testing.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

// Gives the other processes a chance to run whenever somebody waits.
class YieldingClock : public FakeClock {
 public:
  YieldingClock() {
    on_sleep = [] { ::usleep(1000); };
  }
};

// A child in a process group of its own, which waits for signals. `ready` is
// told through a pipe, so that no signal comes before its disposition.
pid_t start_child(bool ignores_sigterm) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::signal(SIGTERM, ignores_sigterm ? SIG_IGN : SIG_DFL);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char told = 0;
  EXPECT_EQ(::read(ready[0], &told, 1), 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

// Reaps; keeps what the child ended with.
std::function<bool()> reaper(pid_t child, int& status) {
  return [child, &status] {
    const pid_t reaped = ::waitpid(child, &status, WNOHANG);
    return reaped == child || (reaped < 0 && errno == ECHILD);
  };
}

TEST(StopProcess, AsksFirst) {
  YieldingClock clock;
  int status = 0;
  const pid_t child = start_child(false);
  StopOptions options;
  options.grace = std::chrono::hours(1);
  options.has_ended = reaper(child, status);
  options.clock = &clock;
  EXPECT_THAT(stop_process_group(child, options),
              IsOkAndHolds(StopOutcome::ended));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(StopProcess, KillsWhatDoesNotEndInTime) {
  YieldingClock clock;
  int status = 0;
  const pid_t child = start_child(true);
  StopOptions options;
  options.grace = std::chrono::seconds(1);
  options.has_ended = reaper(child, status);
  options.clock = &clock;
  EXPECT_THAT(stop_process_group(child, options),
              IsOkAndHolds(StopOutcome::killed));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_GE(clock.monotonic(), std::chrono::seconds(1));
}

TEST(StopProcess, EndsAChildThatItsTerminalStopped) {
  YieldingClock clock;
  int status = 0;
  const pid_t child = start_child(false);
  ::kill(child, SIGSTOP);
  ::waitpid(child, &status, WUNTRACED);
  StopOptions options;
  options.grace = std::chrono::hours(1);
  options.has_ended = reaper(child, status);
  options.clock = &clock;
  EXPECT_THAT(stop_process_group(child, options),
              IsOkAndHolds(StopOutcome::ended));
}

TEST(StopProcess, FindsThatAGroupIsGone) {
  int status = 0;
  const pid_t child = start_child(false);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_THAT(stop_process_group(child), IsOkAndHolds(StopOutcome::was_gone));
}

TEST(StopProcess, RefusesAGroupThatWouldBeEverybody) {
  EXPECT_THAT(stop_process_group(0), FailsWith(Error::Code::invalid_argument));
  EXPECT_THAT(stop_process_group(-1), FailsWith(Error::Code::invalid_argument));
}

// Nobody reaps the child meanwhile: its parent is somebody else in real life.
TEST(StopProcess, EndsAnotherOnesTrainingWithItsGroup) {
  YieldingClock clock;
  const pid_t child = start_child(false);
  StopOptions options;
  options.clock = &clock;
  const TrainingProcess training = {host_name(), child,
                                    process_start_ticks(child).value_or(0)};
  EXPECT_THAT(stop_training_process(training, options),
              IsOkAndHolds(StopOutcome::ended));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_THAT(stop_training_process(training, options),
              IsOkAndHolds(StopOutcome::was_gone));
}

// This test's own group would go with it otherwise.
TEST(StopProcess, LeavesAGroupAloneThatTheTrainingDoesNotLead) {
  YieldingClock clock;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTERM, SIG_IGN);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ::close(ready[0]);
  ::close(ready[1]);
  StopOptions options;
  options.clock = &clock;
  EXPECT_THAT(stop_training_process(
                  {host_name(), child, process_start_ticks(child).value_or(0)},
                  options),
              IsOkAndHolds(StopOutcome::killed));
  ::waitpid(child, nullptr, 0);
}

TEST(StopProcess, DoesNotTouchAProcessThatOnlyHasTheSameId) {
  const std::uint64_t ticks = process_start_ticks(::getpid()).value_or(0);
  EXPECT_THAT(stop_training_process({host_name(), ::getpid(), ticks + 1}),
              IsOkAndHolds(StopOutcome::was_gone));
  EXPECT_THAT(stop_training_process({"elsewhere", ::getpid(), ticks}),
              FailsWith(Error::Code::not_found, HasSubstr("'elsewhere'")));
}

}  // namespace
}  // namespace smdebug
