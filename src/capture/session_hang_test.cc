// Tests storages that stop responding, at each of their operations: the
// training and the end of the session wait no longer than their limit, and the
// reason is latched and logged.

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/file_writer.h"
#include "smdebug/capture/session.h"
#include "smdebug/capture/session_group.h"
#include "smdebug/store/open_storage.h"

#include "format/file_names.h"
#include "tests/support/hanging_storage_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr milliseconds kLimit{100};

class SessionHangTest : public testing::Test {
 protected:
  SessionHangTest() {
    static int next = 0;
    memory_ = *open_storage("memory://session_hang_" + std::to_string(next++));
    hanging_ = std::make_shared<HangingStorage>(memory_);
    config_.save_all = true;
    config_.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
  }
  // Abandoned threads return before their storage is gone.
  ~SessionHangTest() override {
    hanging_->release();
    hanging_->wait_for_release();
  }

  SessionOptions options() {
    SessionOptions options;
    options.config = config_;
    options.framework = pytorch_framework();
    options.storage = hanging_;
    options.storage_timeout = kLimit;
    options.logger = &log_;
    return options;
  }
  std::unique_ptr<Session> open() {
    auto session = Session::create(options());
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  static void step(Session& session, std::size_t elements = 10) {
    const std::vector<float> values(elements, 1.0f);
    const std::int64_t shape[] = {static_cast<std::int64_t>(elements)};
    session.begin_step();
    for (const char* name : {"a", "b"}) {
      session.tensor(name).put(
          {DType::float32,
           reinterpret_cast<const std::byte*>(values.data()),
           shape,
           {}});
    }
    session.end_step();
  }

  std::shared_ptr<Storage> memory_;
  std::shared_ptr<HangingStorage> hanging_;
  HookConfig config_;
  RecordingLogger log_{LogLevel::error};
};

class SessionHangsAtTest : public SessionHangTest,
                           public testing::WithParamInterface<StorageCall> {};

TEST_P(SessionHangsAtTest, EndsFromItsFirstCallOn) {
  hanging_->hang_at(GetParam());
  auto session = open();
  for (int i = 0; i < 3; ++i) step(*session);
  const Status closed = session->close();
  if (!hanging_->has_hung()) GTEST_SKIP() << "a new run makes no such call";
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Error::Code::unavailable);
  EXPECT_THAT(
      closed.error().message,
      MatchesRegex("(run .*: )?cannot [a-z ]+ '.*' in 'memory://session_hang_.*"
                   "': the storage has not responded for 0.1 s: .*"));
  EXPECT_EQ(session->status().state, SessionStatus::State::failed);
  EXPECT_THAT(log_.text(), ContainsRegex("nothing (more )?will be saved"));
  EXPECT_EQ(log_.lines().size(), 1u) << log_.text();
}

TEST_P(SessionHangsAtTest, EndsAfterItHasWrittenSteps) {
  auto session = open();
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(GetParam());
  for (int i = 0; i < 3; ++i) step(*session);
  const Status closed = session->close();
  if (!hanging_->has_hung()) GTEST_SKIP() << "no such call after the first";
  ASSERT_FALSE(closed);
  EXPECT_EQ(session->status().state, SessionStatus::State::failed);
}

TEST_P(SessionHangsAtTest, IsDestroyedWithoutClose) {
  auto session = open();
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(GetParam());
  step(*session);
  session = nullptr;
}

TEST_P(SessionHangsAtTest, EndsWithTensorBoardAndASizeLimit) {
  config_.tensorboard_dir = "memory://unused";
  config_.max_run_bytes = 1500;
  SessionOptions with_tensorboard = options();
  with_tensorboard.storage = memory_;
  with_tensorboard.tensorboard = hanging_;
  auto session = *Session::create(std::move(with_tensorboard));
  hanging_->hang_at(GetParam());
  for (int i = 0; i < 5; ++i) {
    step(*session);
    session->save_scalar("loss", i);
  }
  (void)session->close();
}

TEST_P(SessionHangsAtTest, EndsWithASizeLimit) {
  config_.max_run_bytes = 1500;
  auto session = open();
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(GetParam());
  for (int i = 0; i < 5; ++i) step(*session);
  (void)session->close();
  if (!hanging_->has_hung()) GTEST_SKIP() << "no such call after the first";
  EXPECT_EQ(session->status().state, SessionStatus::State::failed);
}

TEST_P(SessionHangsAtTest, EndsBesideAnEarlierAttempt) {
  {
    auto killed = open();
    step(*killed);
    ASSERT_TRUE(killed->flush());
  }
  ASSERT_TRUE(memory_->remove(kClaimKey));
  hanging_->hang_at(GetParam());
  auto session = open();
  for (int i = 0; i < 3; ++i) step(*session);
  (void)session->close();
  if (!hanging_->has_hung()) GTEST_SKIP() << "such a run makes no such call";
  EXPECT_EQ(session->status().state, SessionStatus::State::failed);
}

INSTANTIATE_TEST_SUITE_P(Every, SessionHangsAtTest,
                         testing::ValuesIn(kStorageCalls));

TEST_F(SessionHangTest, EndsWhileItWritesScalars) {
  auto session = open();
  const ScalarSlot loss = session->scalar("loss");
  step(*session);
  loss.note(1);
  hanging_->hang_at(StorageCall::commit, "series/");
  for (int i = 0; i < 3; ++i) {
    step(*session);
    for (int sample = 0; sample < 5000; ++sample) loss.note(sample);
  }
  const Status closed = session->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Error::Code::unavailable);
  EXPECT_THAT(closed.error().message, HasSubstr("series/worker_0-"));
  EXPECT_EQ(log_.lines().size(), 1u) << log_.text();
}

TEST_F(SessionHangTest, LetsTheTrainingWaitOnceForAFullQueue) {
  config_.buffer_bytes = 1 << 20;
  auto session = open();
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(StorageCall::append, "events/");
  // Each of these would wait for space.
  for (int i = 0; i < 1000; ++i) step(*session, 100'000);
  const SessionStatus status = session->status();
  EXPECT_EQ(status.state, SessionStatus::State::failed);
  EXPECT_EQ(status.error_step, 1);
  EXPECT_GT(status.calls_after_failure, 900u);
  EXPECT_EQ(log_.lines().size(), 1u);
}

TEST_F(SessionHangTest, IsSeenInTheStatusOfATrainingThatDoesNotWait) {
  auto session = open();
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(StorageCall::commit, "events/");
  step(*session);
  while (!session->status().error) std::this_thread::yield();
  EXPECT_EQ(session->status().error_step, 1);
  EXPECT_EQ(session->status().error->code, Error::Code::unavailable);
}

TEST_F(SessionHangTest, NamesTheCallAndTheFileThatDoNotReturn) {
  const std::string events = event_file_key(1, "worker_0");
  const std::string index = index_file_key(1, "worker_0");
  const struct {
    StorageCall call;
    std::string key;
    std::string text;
  } cases[] = {{StorageCall::create, events, "create '" + events},
               {StorageCall::append, events, "write '" + events},
               {StorageCall::commit, events, "finish '" + events},
               {StorageCall::commit, index, "finish '" + index}};
  for (const auto& [call, key, text] : cases) {
    memory_ = *open_storage("memory://hang_at_" + text);
    hanging_ = std::make_shared<HangingStorage>(memory_);
    auto session = open();
    step(*session);
    ASSERT_TRUE(session->flush());
    hanging_->hang_at(call, key);
    step(*session);
    EXPECT_THAT(session->close().error().message,
                HasSubstr("cannot " + text + "' in '" + memory_->uri() +
                          "': the storage has not responded for 0.1 s"));
    hanging_->release();
    hanging_->wait_for_release();
  }
}

TEST_F(SessionHangTest, NamesTheFolderOfTensorBoardThatDoesNotRespond) {
  config_.tensorboard_dir = "memory://unused";
  SessionOptions with_tensorboard = options();
  with_tensorboard.storage = memory_;
  auto folder = *open_storage("memory://tensorboard_that_hangs");
  hanging_ = std::make_shared<HangingStorage>(folder);
  with_tensorboard.tensorboard = hanging_;
  auto session = *Session::create(std::move(with_tensorboard));
  hanging_->hang_at(StorageCall::append);
  session->begin_step();
  session->save_scalar("loss", 1);
  EXPECT_THAT(session->close().error().message,
              HasSubstr("' in 'memory://tensorboard_that_hangs'"));
}

TEST_F(SessionHangTest, EndsEarlierWhenTheUserInterruptsIt) {
  SessionOptions patient = options();
  patient.storage_timeout = hours(1);
  patient.check_interrupt = [] { return true; };
  auto session = *Session::create(std::move(patient));
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(StorageCall::append);
  step(*session);
  EXPECT_FALSE(session->close());
  EXPECT_THAT(session->status().error->message, HasSubstr("interrupted"));
}

TEST_F(SessionHangTest, IsNotWaitedForByEachSessionOfAGroup) {
  config_.include_workers = IncludeWorkers::all;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(open());
  SessionGroup group(*sessions.front());
  std::vector<Session*> further;
  std::vector<std::string> names = {"w0"};
  for (std::size_t i = 1; i < sessions.size(); ++i) {
    further.push_back(sessions[i].get());
    names.push_back("w" + std::to_string(i));
  }
  ASSERT_TRUE(group.spread(further, names));
  for (const auto& session : sessions) step(*session);
  ASSERT_TRUE(group.flush());
  hanging_->hang_at(StorageCall::append);
  for (const auto& session : sessions) step(*session);
  EXPECT_FALSE(group.close());
  for (const auto& session : sessions)
    EXPECT_EQ(session->status().state, SessionStatus::State::failed);
}

TEST_F(SessionHangTest, IsNotWrittenToAfterTheSessionGaveUp) {
  auto session = open();
  step(*session);
  ASSERT_TRUE(session->flush());
  hanging_->hang_at(StorageCall::append, "events/");
  step(*session);
  step(*session);
  EXPECT_FALSE(session->close());
  session = nullptr;
  hanging_->release();
  hanging_->wait_for_release();
  EXPECT_FALSE(*memory_->exists(index_file_key(2, "worker_0")));
  EXPECT_FALSE(*memory_->exists(kEndMarkerKey));
}

TEST_F(SessionHangTest, LetsAFileWriterFailAtEachCall) {
  for (const StorageCall call :
       {StorageCall::create, StorageCall::append, StorageCall::commit}) {
    auto storage = std::make_shared<HangingStorage>(memory_);
    auto writer = *FileWriter::create(
        storage, {.step = static_cast<Step>(call), .storage_timeout = kLimit});
    storage->hang_at(call);
    const float value = 1;
    const std::int64_t shape[] = {1};
    const Status written =
        writer->write_tensor("a", {DType::float32,
                                   reinterpret_cast<const std::byte*>(&value),
                                   shape,
                                   {}});
    const Status closed = writer->close();
    EXPECT_FALSE(written && closed);
    EXPECT_TRUE(storage->has_hung());
    writer = nullptr;
    storage->release();
    storage->wait_for_release();
  }
}

}  // namespace
}  // namespace smdebug
