// Tests the folder of a run: the process that may write it, its contents, and
// failures to write it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"
#include "format/collections_file.h"
#include "format/file_names.h"
#include "format/run_file.h"
#include "tests/fault/faulty_storage.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using SessionRunTest = SessionFixture;

TEST_F(SessionRunTest, LatchesAFullDiskSaysItOnceAndLetsTheTrainingGoOn) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  config_.buffer_bytes = 1 << 20;
  auto session = open();
  const std::vector<float> values(50000, 2.0f);
  session->begin_step();
  put(*session, "a", values);
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());

  faulty->fail_with("no space left on device");
  for (int step = 1; step < 50; ++step) {
    for (int i = 0; i < 10; ++i) put(*session, std::to_string(i), values);
    session->begin_step();
  }
  const Status closed = session->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, Error::Code::io);

  const SessionStatus status = session->status();
  EXPECT_EQ(status.state, SessionStatus::State::failed);
  EXPECT_THAT(status.error->message, HasSubstr("no space left on device"));
  EXPECT_EQ(status.error_step, 1);
  EXPECT_GT(status.calls_after_failure, 0u);
  const std::string said = log_.text();
  EXPECT_THAT(said, HasSubstr("step 1: nothing more will be saved"));
  EXPECT_EQ(said.find("nothing more"), said.rfind("nothing more")) << said;
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
  EXPECT_FALSE(is_there(index_file_key(1, "worker_0")));
}

TEST_F(SessionRunTest, SaysOnceThatItsFolderIsAFileBeforeTheFirstStep) {
  const TemporaryFolder folder;
  folder.write("file", "");
  for (const char* location : {"file", "file/run"}) {
    storage_ = nullptr;
    config_.out_dir = folder.path(location);
    const std::size_t before = log_.lines().size();
    auto session = open();
    const SessionStatus made = session->status();
    EXPECT_EQ(made.state, SessionStatus::State::failed);
    ASSERT_TRUE(made.error);
    EXPECT_EQ(made.error->message,
              "out_dir '" + config_.out_dir + "' cannot be written: '" +
                  folder.path("file") +
                  "' is a file, not a folder; choose another folder");
    for (int step = 0; step < 3; ++step) {
      EXPECT_FALSE(session->begin_step());
      put(*session, "a", {1});
    }
    EXPECT_FALSE(session->close().ok());
    EXPECT_THAT(log_.lines(), SizeIs(before + 1));
    EXPECT_EQ(session->status().steps, 3);
  }
}

TEST_F(SessionRunTest, ChecksNoFolderInADryRun) {
  const TemporaryFolder folder;
  folder.write("file", "");
  storage_ = nullptr;
  config_.out_dir = folder.path("file");
  config_.dry_run = true;
  EXPECT_EQ(open()->status().state, SessionStatus::State::active);
}

TEST_F(SessionRunTest, RecordsWithoutTensorBoardIfThatFolderIsAFile) {
  const TemporaryFolder folder;
  folder.write("file", "");
  config_.tensorboard_dir = folder.path("file/tb");
  auto session = open();
  ASSERT_TRUE(session->status().tensorboard_error);
  EXPECT_THAT(session->status().tensorboard_error->message,
              HasSubstr("tensorboard_dir '" + folder.path("file/tb") +
                        "' cannot be written: '" + folder.path("file") + "'"));
  session->begin_step();
  put(*session, "a", {1, 2});
  EXPECT_TRUE(session->close().ok());
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
  EXPECT_TRUE(session->status().tensorboard_error);
  EXPECT_THAT(log_.lines(),
              Contains(HasSubstr("for TensorBoard: tensorboard_dir")).Times(1));
}

TEST_F(SessionRunTest, SaysThatNothingIsSavedIfTheFirstFileCannotBeWritten) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  faulty->fail_with("file too large", "run.json");
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  session->begin_step();
  EXPECT_FALSE(session->close().ok());
  EXPECT_THAT(log_.text(), HasSubstr("nothing will be saved: "));
  EXPECT_THAT(log_.text(), HasSubstr("file too large"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("step -1")));
}

TEST_F(SessionRunTest, LatchesAnExceptionOfALibraryInTheWriteThread) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());
  faulty->throw_at_event_files();
  for (int step = 1; step < 5; ++step) {
    put(*session, "a", {1});
    session->begin_step();
  }
  const Status closed = session->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, Error::Code::internal);
  EXPECT_THAT(closed.error().message, HasSubstr("exception"));
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
}

TEST_F(SessionRunTest, LatchesAnOutDirThatCannotBeWritten) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  faulty->fail_with("permission denied");
  storage_ = faulty;
  auto session = open();
  EXPECT_FALSE(session->begin_step());
  put(*session, "a", {1});
  EXPECT_FALSE(session->begin_step());
  EXPECT_FALSE(session->close().ok());
  const SessionStatus status = session->status();
  EXPECT_EQ(status.state, SessionStatus::State::failed);
  EXPECT_THAT(status.error->message, HasSubstr("permission denied"));
  EXPECT_EQ(status.error_step, 0);
}

TEST_F(SessionRunTest, RefusesAFolderWhereARunHasEnded) {
  ASSERT_TRUE(open()->close().ok());
  {
    auto session = open();
    session->begin_step();
    ASSERT_TRUE(session->close().ok());
  }
  SessionOptions options;
  options.config = config_;
  options.framework = pytorch_framework();
  options.storage = storage_;
  const auto again = Session::create(std::move(options));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Error::Code::closed);
  EXPECT_THAT(again.error().message, HasSubstr("has ended"));
}

TEST_F(SessionRunTest, IsSilentWhileALiveProcessWritesTheRun) {
  auto first = open();
  first->begin_step();
  put(*first, "a", {1});
  auto second = open();
  EXPECT_FALSE(second->begin_step());
  put(*second, "a", {2});
  EXPECT_EQ(second->status().state, SessionStatus::State::inactive);
  EXPECT_THAT(second->status().reason,
              HasSubstr("process " + std::to_string(getpid())));
  ASSERT_TRUE(second->status().error);
  EXPECT_EQ(second->status().error->code, Error::Code::closed);
  EXPECT_THAT(second->status().error->message, HasSubstr("another hook"));
  EXPECT_EQ(second->status().error_step, 0);
  EXPECT_THAT(log_.text(), HasSubstr("nothing will be saved"));
  EXPECT_TRUE(second->close().ok());
  ASSERT_TRUE(first->close().ok());
  EXPECT_THAT(records(0).at("a"), ElementsAre(1));
}

TEST_F(SessionRunTest, LeavesAMarkForReadersThatAnotherWriterWasRefused) {
  auto first = open();
  first->begin_step();
  EXPECT_FALSE(is_there(kRefusedKey));
  auto second = open();
  second->begin_step();
  const auto refused = parse_claim(text(kRefusedKey));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->process_id, getpid());
  ASSERT_TRUE(first->close().ok());
}

// Two processes were started with the same rank.
TEST_F(SessionRunTest, RefusesASecondWriterOfOneWorkerOfSeveral) {
  config_.include_workers = IncludeWorkers::all;
  auto first = open();
  auto second = open();
  auto other = open();
  first->set_worker(1, 3);
  second->set_worker(1, 3);
  other->set_worker(2, 3);
  EXPECT_TRUE(first->begin_step());
  EXPECT_FALSE(second->begin_step());
  EXPECT_TRUE(other->begin_step());
  EXPECT_THAT(second->status().error->message, HasSubstr("another hook"));
  EXPECT_TRUE(is_there(worker_claim_key("worker_1")));
  ASSERT_TRUE(first->close().ok());
  ASSERT_TRUE(other->close().ok());
  EXPECT_FALSE(is_there(worker_claim_key("worker_1")));
}

// A worker restarts on another node: nobody knows whether the first one lives.
TEST_F(SessionRunTest, TakesOverTheClaimOfAWorkerOnAnotherHost) {
  config_.include_workers = IncludeWorkers::all;
  ASSERT_TRUE(put_object(*storage_, worker_claim_key("worker_1"),
                         write_claim({"elsewhere", 1, 1})));
  auto session = open();
  session->set_worker(1, 2);
  EXPECT_TRUE(session->begin_step());
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionRunTest, TakesOverTheClaimOfAProcessThatIsGone) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  {
    auto probe = open();
    probe->begin_step();
    ASSERT_TRUE(probe->flush().ok());
    // What the process itself would have written, under another number.
    std::string claim = text(kClaimKey);
    const std::string own = std::to_string(getpid());
    claim.replace(claim.find(own), own.size(), std::to_string(gone));
    ASSERT_TRUE(put_object(*storage_, kClaimKey, claim).ok());
  }
  auto session = open();
  EXPECT_TRUE(session->begin_step());
  EXPECT_THAT(log_.text(), HasSubstr("taken over"));
  EXPECT_TRUE(session->close().ok());
}

TEST_F(SessionRunTest, LeavesWorkersOtherThanTheFirstSilentUnlessAllAreAsked) {
  auto one = open();
  one->set_worker(1, 2);
  EXPECT_FALSE(one->begin_step());
  EXPECT_EQ(one->status().state, SessionStatus::State::inactive);

  config_.include_workers = IncludeWorkers::all;
  auto all = open();
  all->set_worker(1, 2);
  EXPECT_TRUE(all->begin_step());
  put(*all, "a", {1});
  ASSERT_TRUE(all->close().ok());
  EXPECT_TRUE(is_there(index_file_key(0, "worker_1")));
  const auto file =
      parse_collections_file(text(collections_file_key("worker_1")));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->num_workers, 2);
  EXPECT_FALSE(is_there(kRunFileKey)) << "the first worker's to write";
}

TEST_F(SessionRunTest, WritesARunOfOneWorkerWhereTheFirstAloneSaves) {
  auto session = open();
  session->set_worker(0, 4);
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  const auto file =
      parse_collections_file(text(collections_file_key("worker_0")));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->num_workers, 1) << "a reader would wait for the others";
}

TEST_F(SessionRunTest, RecordsSeveralNamedWorkersOfOneProcessInOneRun) {
  const std::array<std::string, 2> devices = {
      "/job:localhost/replica:0/task:0/device:CPU:0",
      "/job:localhost/replica:0/task:0/device:CPU:1"};
  config_.include_workers = IncludeWorkers::all;
  std::array<std::unique_ptr<Session>, 2> sessions = {open(), open()};
  for (int i = 0; i < 2; ++i) {
    sessions[i]->set_worker(i, 2, devices[i]);
    EXPECT_TRUE(sessions[i]->begin_step());
    put(*sessions[i], "a", {static_cast<float>(i)});
  }
  EXPECT_TRUE(is_there(kClaimKey));
  EXPECT_TRUE(sessions[0]->is_first_worker());
  EXPECT_FALSE(sessions[1]->is_first_worker());
  EXPECT_EQ(sessions[1]->worker(), devices[1]);
  for (auto& session : sessions) ASSERT_TRUE(session->close().ok());

  EXPECT_TRUE(is_there(
      "index/000000000/"
      "000000000000__job-localhost_replica-0_task-0_device-CPU-1.json"));
  for (const std::string& device : devices) {
    const auto file =
        parse_collections_file(text(collections_file_key(device)));
    ASSERT_TRUE(file.ok()) << device;
    EXPECT_EQ(file->num_workers, 2);
  }
  EXPECT_TRUE(is_there(kRunFileKey));
  EXPECT_FALSE(is_there(kClaimKey));
}

TEST_F(SessionRunTest, WritesNoFileInADryRunAndCountsWhatItWouldHave) {
  config_.dry_run = true;
  auto session = open();
  session->begin_step();
  put(*session, "a", std::vector<float>(100));
  session->save_scalar("x", 1);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(*storage_->list(""), IsEmpty());
  EXPECT_EQ(session->status().records, 2u);
  EXPECT_GT(session->status().bytes, 400u);
}

TEST_F(SessionRunTest, RecordsEachAttemptInTheRunFile) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto session = open();
    session->begin_step();
    put(*session, "a", {1});
    if (attempt == 1) {
      ASSERT_TRUE(session->close().ok());
    } else {
      ASSERT_TRUE(session->flush().ok());
      ASSERT_TRUE(storage_->remove(kClaimKey).ok());
    }
  }
  const auto run = parse_run_file(text(kRunFileKey));
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_THAT(run->attempts, SizeIs(2));
  EXPECT_EQ(run->attempts[0].status, "running");
  EXPECT_EQ(run->attempts[1].status, "finished");
  EXPECT_EQ(run->attempts[1].cost.at("steps"), 1);
  EXPECT_GT(run->attempts[1].cost.at("bytes_written"), 0);
}

TEST_F(SessionRunTest, KeepsTheRunBelowItsLimitAndSaysSo) {
  config_.max_run_bytes = 55000;
  config_.keep_every = 10;
  auto session = open();
  for (int step = 0; step < 25; ++step) {
    session->begin_step();
    put(*session, "a", std::vector<float>(2000, 1.0f * step));  // 8,000 bytes
  }
  ASSERT_TRUE(session->close().ok());
  std::uint64_t bytes = 0;
  const auto files = *storage_->list("");
  for (const ObjectEntry& file : files) bytes += file.bytes;
  EXPECT_LE(bytes, 55000u);
  EXPECT_GT(bytes, 45000u);
  for (const Step kept : {0, 10, 20, 23, 24})
    EXPECT_THAT(records(kept).at("a"), ::testing::Each(1.0f * kept));
  EXPECT_FALSE(is_there(index_file_key(19, "worker_0")));
  EXPECT_FALSE(is_there(event_file_key(19, "worker_0")));

  const SessionStatus status = session->status();
  EXPECT_EQ(status.steps_published, 25u);
  EXPECT_EQ(status.removed_steps, 20u);
  EXPECT_EQ(status.first_kept_step, 0);
  const auto run = parse_run_file(text(kRunFileKey));
  EXPECT_EQ(run->attempts[0].cost.at("removed_steps"), 20);
  EXPECT_EQ(run->attempts[0].cost.at("first_kept_step"), 0);
}

}  // namespace
}  // namespace smdebug
