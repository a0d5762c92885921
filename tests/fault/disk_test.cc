// Tests disks that are full, fail or lose the run during a training: the
// training continues, the reason is logged, and published steps stay readable.

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "smdebug/capture/session.h"
#include "smdebug/read/trial.h"
#include "smdebug/store/open_storage.h"

#include "tests/fault/faulty_storage.h"
#include "tests/fault/file_size_limit.h"
#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DiskTest : public testing::Test {
 protected:
  // A session that saves every step.
  std::unique_ptr<Session> record(std::shared_ptr<Storage> storage = nullptr) {
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    SessionOptions options;
    options.config.out_dir = run_;
    options.config.save_all = true;
    options.config.save_config = SaveConfig(every_step);
    options.framework = pytorch_framework();
    options.storage = std::move(storage);
    options.logger = &log_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  // One step with tensor `w`, all of whose elements are `value`.
  static void step(Session& session, float value, std::size_t elements = 10) {
    const std::vector<float> values(elements, value);
    const std::int64_t shape[] = {static_cast<std::int64_t>(elements)};
    session.begin_step();
    session.tensor("w").put({DType::float32,
                             reinterpret_cast<const std::byte*>(values.data()),
                             shape,
                             {}});
    session.end_step();
  }

  std::unique_ptr<Trial> open() {
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    options.end_delay = std::chrono::nanoseconds(0);
    options.logger = &log_;
    auto trial = Trial::open(run_, std::move(options));
    EXPECT_TRUE(trial.ok()) << trial.error().message;
    return *std::move(trial);
  }

  // The first element of `w`.
  static float value_at(Trial& trial, Step step) {
    const auto value = trial.tensor("w")->value({step});
    EXPECT_TRUE(value.ok()) << value.error().message;
    if (!value) return -1;
    float first;
    std::memcpy(&first, value->bytes().data(), sizeof(first));
    return first;
  }

  void expect_no_unfinished_file() {
    for (const auto& entry : fs::recursive_directory_iterator(run_)) {
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
    }
  }

  NullLogger log_;
  TemporaryFolder folder_;
  const std::string run_ = folder_.path() + "/run";
};

TEST_F(DiskTest, ThatIsFullWhenScalarsAreWrittenCostsTheLaterOnes) {
  auto session = record();
  const ScalarSlot loss = session->scalar("loss");
  step(*session, 1);
  loss.note(1);
  ASSERT_TRUE(session->flush().ok());
  {
    const FileSizeLimit full(10'000);
    for (int i = 0; i < 1000; ++i) {
      session->begin_step();
      loss.note(i);
    }
    EXPECT_FALSE(session->flush().ok());
    loss.note(2);
    EXPECT_FALSE(session->close().ok());
  }
  EXPECT_EQ(session->status().error->code, Error::Code::io);
  expect_no_unfinished_file();
  const auto trial = open();
  EXPECT_EQ(trial->series("loss")->front().samples.size(), 1u);
  EXPECT_THAT(trial->damage(), IsEmpty());
}

TEST_F(DiskTest, ThatIsFullInTheMiddleOfAnEventFileCostsThatStepAndNoOther) {
  auto session = record();
  step(*session, 1);
  ASSERT_TRUE(session->flush().ok());
  {
    const FileSizeLimit full(100'000);
    step(*session, 2, 1'000'000);
    EXPECT_FALSE(session->flush().ok());
    for (int i = 0; i < 5; ++i) step(*session, 3);
    EXPECT_FALSE(session->close().ok());
  }
  const SessionStatus status = session->status();
  EXPECT_EQ(status.error_step, 1);
  EXPECT_EQ(status.error->code, Error::Code::io);
  EXPECT_GT(status.calls_after_failure, 0u);
  EXPECT_EQ(status.steps_published, 1u);
  expect_no_unfinished_file();
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_EQ(value_at(*trial, 0), 1);
  EXPECT_THAT(trial->damage(), IsEmpty());
  // Room was left for the small files: the reason is with the run.
  const auto text = trial->run_file_text();
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("File too large"));
}

TEST_F(DiskTest, ThatIsFullBetweenEventFileAndIndexShowsNothingOfTheStep) {
  const auto disk = std::make_shared<FaultyStorage>(*open_storage(run_));
  auto session = record(disk);
  step(*session, 1);
  ASSERT_TRUE(session->flush().ok());
  disk->fail_with("no space left on device", "index/");
  step(*session, 2);
  EXPECT_FALSE(session->close().ok());
  EXPECT_EQ(session->status().error_step, 1);
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_THAT(trial->damage(), IsEmpty());
}

TEST_F(DiskTest, ThatIsFullInARestartLeavesTheEarlierAttemptWhole) {
  {
    auto first = record();
    for (int i = 0; i < 3; ++i) step(*first, 1);
    ASSERT_TRUE(first->flush().ok());
  }
  // It was never closed: for the second one to be let in, its claim goes.
  fs::remove(run_ + "/claim.smd");
  const auto disk = std::make_shared<FaultyStorage>(*open_storage(run_));
  auto second = record(disk);
  step(*second, 2, 7);
  ASSERT_TRUE(second->flush().ok());
  disk->fail_with("no space left on device", "index/");
  step(*second, 2, 7);
  EXPECT_FALSE(second->flush().ok());
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  EXPECT_EQ(value_at(*trial, 0), 2);
  const auto earlier = Trial::open(run_ + "/attempts/1");
  ASSERT_TRUE(earlier.ok()) << earlier.error().message;
  EXPECT_THAT((*earlier)->steps(), ElementsAre(0, 1, 2));
  for (const Step step : {0, 1, 2}) EXPECT_EQ(value_at(**earlier, step), 1);
}

TEST_F(DiskTest, WhoseFolderIsRemovedIsLatchedAndTheRunStaysAway) {
  auto session = record();
  step(*session, 1);
  ASSERT_TRUE(session->flush().ok());
  fs::remove_all(run_);
  step(*session, 2);
  step(*session, 3);
  EXPECT_FALSE(session->close().ok());
  EXPECT_FALSE(fs::exists(run_));
  const SessionStatus status = session->status();
  EXPECT_EQ(status.error_step, 1);
  EXPECT_EQ(status.error->code, Error::Code::io);
  EXPECT_THAT(status.error->message, HasSubstr("removed"));
}

TEST_F(DiskTest, WhoseFolderIsEmptiedGetsTheStepsThatFollow) {
  auto session = record();
  step(*session, 1);
  ASSERT_TRUE(session->flush().ok());
  fs::remove_all(run_ + "/events");
  fs::remove_all(run_ + "/index");
  step(*session, 2);
  EXPECT_TRUE(session->close().ok());
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(1));
  EXPECT_EQ(value_at(*trial, 1), 2);
}

TEST_F(DiskTest, WhoseFolderBecomesAFileIsLatched) {
  auto session = record();
  step(*session, 1);
  ASSERT_TRUE(session->flush().ok());
  fs::remove_all(run_);
  std::ofstream(run_) << "a file";
  step(*session, 2);
  step(*session, 3);
  EXPECT_FALSE(session->close().ok());
  EXPECT_EQ(session->status().error_step, 1);
  EXPECT_EQ(session->status().error->code, Error::Code::io);
}

// Root may write anywhere: for a while this process is somebody else.
class SomebodyElse {
 public:
  SomebodyElse() : before_(geteuid()) {
    constexpr uid_t kNobody = 65534;
    if (before_ == 0) {
      EXPECT_EQ(seteuid(kNobody), 0);
    }
  }
  SomebodyElse(const SomebodyElse&) = delete;
  SomebodyElse& operator=(const SomebodyElse&) = delete;
  ~SomebodyElse() { EXPECT_EQ(seteuid(before_), 0); }

 private:
  uid_t before_;
};

TEST_F(DiskTest, ThatMayOnlyBeReadIsLatchedAndLeavesNothing) {
  fs::create_directory(run_);
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(run_, fs::perms(0555));
  auto session = record();
  {
    const SomebodyElse nobody;
    for (int i = 0; i < 3; ++i) step(*session, 1);
    EXPECT_FALSE(session->close().ok());
  }
  EXPECT_EQ(session->status().error_step, 0);
  EXPECT_THAT(session->status().error->message, HasSubstr("Permission denied"));
  EXPECT_TRUE(fs::is_empty(run_));
}

}  // namespace
}  // namespace smdebug
