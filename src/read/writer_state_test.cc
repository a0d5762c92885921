// Tests whether a reader detects that the writer of a run has exited.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "format/run_file.h"
#include "read/trial_testing.h"

namespace smdebug {
namespace {

// A process that does nothing until it is killed.
class IdleProcess {
 public:
  IdleProcess() : id_(fork()) {
    if (id_ != 0) return;
    while (true) pause();
  }
  ~IdleProcess() {
    kill_it();
    wait_for_it();
  }

  pid_t id() const { return id_; }
  void kill_it() { kill(id_, SIGKILL); }
  // Until then it is a zombie.
  void wait_for_it() { waitpid(id_, nullptr, 0); }
  // Until it is one.
  void watch_it_die() {
    siginfo_t ignored;
    waitid(P_PID, static_cast<id_t>(id_), &ignored, WEXITED | WNOWAIT);
  }

 private:
  pid_t id_;
};

class WriterStateTest : public TrialTest {
 protected:
  WriterStateTest() {
    run_.put_collections("worker_0", 1);
    put(0);
  }

  void claim_for(pid_t process, std::string host = host_name(),
                 std::uint64_t more_ticks = 0) {
    const std::uint64_t ticks = *process_start_ticks(process) + more_ticks;
    run_.put(std::string(kClaimKey),
             write_claim({std::move(host), process, ticks}));
  }
};

TEST_F(WriterStateTest, IsGoneWhenItsProcessWasKilled) {
  IdleProcess writer;
  claim_for(writer.id());
  const auto trial = open();
  EXPECT_EQ(trial->writer_state(), WriterState::running);
  writer.kill_it();
  writer.watch_it_die();
  EXPECT_EQ(trial->writer_state(), WriterState::exited);
  writer.wait_for_it();
  EXPECT_EQ(trial->writer_state(), WriterState::exited);
  EXPECT_FALSE(trial->has_ended());
  run_.put_end_marker();
  EXPECT_EQ(trial->writer_state(), WriterState::ended);
}

TEST_F(WriterStateTest, IsGoneWhenAnotherProcessHasItsNumber) {
  claim_for(getpid(), host_name(), 1);
  EXPECT_EQ(open()->writer_state(), WriterState::exited);
}

TEST_F(WriterStateTest, IsRunningWhereNothingCanBeKnown) {
  const auto trial = open();
  EXPECT_EQ(trial->writer_state(), WriterState::running);
  run_.put(std::string(kClaimKey), "");
  EXPECT_EQ(trial->writer_state(), WriterState::running);
  claim_for(getpid(), "another host", 1);
  EXPECT_EQ(trial->writer_state(), WriterState::running);
}

TEST_F(WriterStateTest, LeavesNothingToWaitFor) {
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  claim_for(getpid(), host_name(), 1);
  EXPECT_EQ(open()->tensor("w")->value({0}).error().code, Error::Code::io);
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(WriterStateTest, NamesTheProcessThatClaimedTheRun) {
  EXPECT_FALSE(open()->writer());
  claim_for(getpid());
  const auto writer = open()->writer();
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->host, host_name());
  EXPECT_EQ(writer->process_id, getpid());
  EXPECT_EQ(writer->start_ticks, process_start_ticks(getpid()));
}

// Several workers claim nothing.
TEST_F(WriterStateTest, NamesTheProcessOfTheLastAttemptIfItIsStillThat) {
  RunFile file;
  file.attempts.resize(2);
  RunAttempt& last = file.attempts.back();
  last.host = host_name();
  last.process_id = getpid();
  last.started_seconds = *process_start_seconds(getpid()) + 60;
  const auto named = [&] {
    run_.put(std::string(kRunFileKey), write_run_file(file));
    return open()->writer().has_value();
  };
  EXPECT_TRUE(named());
  EXPECT_EQ(open()->attempt(), 2u);
  EXPECT_EQ(open()->attempts()->size(), 2u);
  // The process has its number from one that trained an hour ago.
  last.started_seconds -= 3600;
  EXPECT_FALSE(named());
  last.started_seconds += 3600;
  last.ended_seconds = last.started_seconds + 1;
  EXPECT_FALSE(named());
  last.ended_seconds.reset();
  last.host = "another host";
  EXPECT_FALSE(named());
}

TEST_F(WriterStateTest, KnowsWhenTheRunWasRemoved) {
  const auto trial = open();
  EXPECT_TRUE(trial->exists());
  EXPECT_EQ(trial->attempt(), 0u);
  EXPECT_TRUE(trial->attempts()->empty());
  const auto entries = storage_->list("");
  ASSERT_TRUE(entries.ok());
  for (const ObjectEntry& entry : *entries) {
    ASSERT_TRUE(storage_->remove(entry.key).ok());
  }
  EXPECT_FALSE(trial->exists());
}

}  // namespace
}  // namespace smdebug
