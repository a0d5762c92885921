#include "smdebug/read/run_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "format/file_names.h"
#include "format/progress_file.h"
#include "format/run_file.h"
#include "read/trial_testing.h"
#include "tests/support/remote_storage_testing.h"

namespace smdebug {
namespace {

constexpr double kNow = 1e9;

// A process that has exited and was reaped.
ProcessMark gone() {
  const pid_t child = fork();
  if (child == 0)
    while (true) pause();
  const ProcessMark mark = {host_name(), child, *process_start_ticks(child)};
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return mark;
}

RunProgress written_by(const ProcessMark& writer, double seconds = kNow) {
  RunProgress progress;
  progress.host = writer.host;
  progress.process_id = writer.process_id;
  progress.start_ticks = writer.start_ticks;
  progress.written_seconds = seconds;
  return progress;
}

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() {
    static int next = 0;
    storage_ = *open_storage("memory://run_folder_" + std::to_string(next++));
  }

  RunState state(const RunProgress& progress) const {
    return read_run_state(*storage_, progress, kNow);
  }
  void put(std::string_view key, std::string_view text = "") {
    ASSERT_TRUE(put_object(*storage_, key, text));
  }

  std::shared_ptr<Storage> storage_;
};

TEST_F(RunFolderTest, RunsWhileItsWriterDoes) {
  EXPECT_EQ(state(written_by(ProcessMark::of_this_process(), 0)),
            RunState::running);
}

TEST_F(RunFolderTest, WasKilledIfItsWriterExitedWithoutAnEndMarker) {
  EXPECT_EQ(state(written_by(gone())), RunState::killed);
  put(kClaimKey, write_claim(gone()));
  EXPECT_EQ(state(written_by(gone())), RunState::killed);
}

TEST_F(RunFolderTest, RunsAgainIfAnotherProcessHasClaimedIt) {
  put(kClaimKey, write_claim(ProcessMark::of_this_process()));
  EXPECT_EQ(state(written_by(gone())), RunState::running);
}

TEST_F(RunFolderTest, HasEndedWithAnEndMarkerWhateverItsProgressShows) {
  put(kEndMarkerKey);
  EXPECT_EQ(state(written_by(gone())), RunState::ended);
  EXPECT_EQ(state(written_by(ProcessMark::of_this_process())), RunState::ended);
}

TEST_F(RunFolderTest, IsUnknownIfAnotherHostHasNotWrittenForTenMinutes) {
  const ProcessMark elsewhere = {"no-such-host", 1, 1};
  EXPECT_EQ(state(written_by(elsewhere, kNow - 599)), RunState::running);
  EXPECT_EQ(state(written_by(elsewhere, kNow - 601)), RunState::unknown);
}

TEST_F(RunFolderTest, WasKilledInAStoreIfAnotherHostHasNotWrittenForMinutes) {
  const RemoteStorage store(storage_);
  const ProcessMark elsewhere = {"no-such-host", 1, 1};
  const auto state_after = [&](double seconds) {
    return read_run_state(store, written_by(elsewhere, kNow - seconds), kNow);
  };
  EXPECT_EQ(state_after(179), RunState::running);
  EXPECT_EQ(state_after(181), RunState::killed);
  // A later start on a third host has not written yet.
  put(kClaimKey, write_claim({"another-host", 1, 1}));
  EXPECT_EQ(state_after(181), RunState::running);
}

TEST_F(RunFolderTest, CountsStepsOfAllWorkersOnceAndTheBytesOfAllFiles) {
  put(index_file_key(3, "worker_0"), "12345");
  put(index_file_key(3, "worker_1"), "1234");
  put(index_file_key(4, "worker_1"), "123");
  put("attempts/1/" + index_file_key(5, "worker_0"), "12");
  put(kRunFileKey, "1");
  const auto size = measure_run(*storage_);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->steps, 2u);
  EXPECT_EQ(size->bytes, 15u);
}

TEST_F(RunFolderTest, HasNoProgressBeforeItsFirstStep) {
  EXPECT_EQ(read_run_progress(*storage_).error().code, Error::Code::not_found);
}

TEST_F(RunFolderTest, RefusesProgressThatIsTooLarge) {
  put(kProgressKey, write_progress_file(RunProgress()));
  EXPECT_TRUE(read_run_progress(*storage_));
  put(kProgressKey, std::string(70'000, ' '));
  EXPECT_EQ(read_run_progress(*storage_).error().code, Error::Code::io);
}

}  // namespace
}  // namespace smdebug
