#include "base/child_program.h"

#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/result_matchers_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<ProgramEnd> run(std::vector<std::string> words,
                       const std::string& input = "") {
  ProgramCall call;
  call.words = std::move(words);
  call.input = input;
  return run_program(call, system_clock());
}

ProgramCall shell(const std::string& command) {
  ProgramCall call;
  call.words = {"/bin/sh", "-c", command};
  return call;
}

TEST(RunProgram, PassesInputAndReturnsBothOutputs) {
  const auto end = run({"sh", "-c", "cat; echo oops >&2"}, "a\nb");
  ASSERT_THAT(end, IsOk());
  EXPECT_TRUE(end->is_success);
  EXPECT_EQ(end->text, "the program ended with exit code 0");
  EXPECT_EQ(end->output, "a\nb");
  EXPECT_EQ(end->errors, "oops\n");
}

TEST(RunProgram, JoinsTheOutputsInOrder) {
  ProgramCall call = shell("echo 1; echo 2 >&2; echo 3");
  call.joins_errors = true;
  const auto end = run_program(call, system_clock());
  ASSERT_THAT(end, IsOk());
  EXPECT_EQ(end->output, "1\n2\n3\n");
  EXPECT_EQ(end->errors, "");
}

TEST(RunProgram, PassesEachWordUnchanged) {
  const auto end = run({"printf", "<%s>", "a b", "$HOME", "*", ""});
  ASSERT_THAT(end, IsOk());
  EXPECT_EQ(end->output, "<a b><$HOME><*><>");
}

TEST(RunProgram, ReturnsHowItFailed) {
  ProgramCall call = shell("exit 7");
  call.name = "the script";
  const auto failed = run_program(call, system_clock());
  ASSERT_THAT(failed, IsOk());
  EXPECT_FALSE(failed->is_success);
  EXPECT_EQ(failed->text, "the script ended with exit code 7");
  const auto killed = run_program(shell("kill -KILL $$"), system_clock());
  ASSERT_THAT(killed, IsOk());
  EXPECT_FALSE(killed->is_success);
  EXPECT_EQ(killed->text, "the program was killed by signal 9");
}

TEST(RunProgram, SaysThatItCannotBeStarted) {
  EXPECT_THAT(run({"/no/such/secret"}),
              FailsWith(Error::Code::io,
                        testing::AllOf(HasSubstr("the program cannot be "
                                                 "started: No such file"),
                                       Not(HasSubstr("secret")))));
  EXPECT_THAT(run({}), FailsWith(Error::Code::io));
}

TEST(RunProgram, KeepsTheEndOfALongOutput) {
  ProgramCall call = shell("head -c 3000000 /dev/zero; printf end");
  call.kept_bytes = 5;
  const auto end = run_program(call, system_clock());
  ASSERT_THAT(end, IsOk());
  EXPECT_EQ(end->output, std::string("\0\0end", 5));
}

// Reading from a pipe ends when no process has it open for writing anymore.
TEST(RunProgram, EndsAProgramThatIgnoresSigtermWithItsChildren) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe"), ready = folder.path("ready");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  FakeClock clock;
  clock.on_sleep = [&] {
    while (!std::filesystem::exists(ready)) std::this_thread::yield();
  };
  EXPECT_THAT(run_program(shell("trap '' TERM; sleep 600 > '" + pipe +
                                "' & : > '" + ready + "'; sleep 600"),
                          clock),
              FailsWith(Error::Code::unavailable,
                        "the program was terminated after 60 s"));
  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
  char byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), 0);
  ::close(reader);
}

TEST(RunProgram, CountsTheTimeOfTheGivenClock) {
  const FakeClock clock;
  ProgramCall call = shell("sleep 600");
  call.time_limit = std::chrono::hours(1);
  EXPECT_THAT(run_program(call, clock),
              FailsWith(Error::Code::unavailable, HasSubstr("3600 s")));
  EXPECT_GE(clock.monotonic(), std::chrono::hours(1));
}

}  // namespace
}  // namespace smdebug
