// Tests the files that a session writes for TensorBoard. Their records are
// tested in format/, and with TensorBoard's own reader in python/tests.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "smdebug/capture/session.h"
#include "smdebug/reduce/statistics_kernel.h"
#include "smdebug/store/open_storage.h"

#include "base/environment.h"
#include "format/tensorboard_record.h"
#include "reduce/histogram.h"
#include "tests/fault/faulty_storage.h"
#include "tests/fault/file_size_limit.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recording_logger_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TensorBoardTest : public ::testing::Test {
 protected:
  TensorBoardTest() {
    static int next = 0;
    const std::string uri = "memory://tensorboard_test_";
    run_ = *open_storage(uri + std::to_string(next++));
    tensorboard_ =
        std::make_shared<FaultyStorage>(*open_storage(folder_.path() + "/tb"));
    config_.out_dir = run_->uri();
    config_.tensorboard_dir = tensorboard_->uri();
    config_.save_all = true;
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    config_.save_config = SaveConfig(every_step);
  }

  std::unique_ptr<Session> open() {
    SessionOptions options;
    options.config = config_;
    options.framework = pytorch_framework();
    options.storage = run_;
    options.tensorboard = tensorboard_;
    options.clock = &clock_;
    options.logger = &log_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  template <typename T>
  static void put(Session& session, std::string_view name, DType dtype,
                  const std::vector<T>& values) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
    session.tensor(name).put(
        {dtype, reinterpret_cast<const std::byte*>(values.data()), shape, {}});
  }
  static void put(Session& session, std::string_view name,
                  const std::vector<float>& values) {
    put(session, name, DType::float32, values);
  }

  static std::string key(Mode mode, int number = 0, double wall_seconds = 1.5) {
    TensorBoardFileName name;
    name.mode = mode;
    name.wall_seconds = wall_seconds;
    name.host = host_name();
    name.process_id = process_id();
    name.number = number;
    return name.key();
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    const auto entries = *tensorboard_->list("", "");
    for (const ObjectEntry& entry : entries) keys.push_back(entry.key);
    return keys;
  }

  std::string file(Mode mode, int number = 0) const {
    const auto bytes = get_object(*tensorboard_, key(mode, number));
    EXPECT_TRUE(bytes.ok()) << bytes.error().message;
    return bytes ? std::string(bytes->text()) : std::string();
  }

  static std::string number(std::string_view tag, double value, Step step) {
    std::string record;
    append_scalar_record(tag, value, 1.5, step, record);
    return record;
  }

  static std::string histogram(std::string_view tag,
                               const std::vector<float>& values, Step step) {
    HistogramCounter counter;
    counter.add(DType::float32, values.data(), values.size());
    std::string record;
    append_histogram_record(tag,
                            *counter.histogram(statistics_of(
                                DType::float32, values.data(), values.size())),
                            1.5, step, record);
    return record;
  }

  TemporaryFolder folder_;
  FakeClock clock_{1.5};
  RecordingLogger log_{LogLevel::error};
  std::shared_ptr<Storage> run_;
  std::shared_ptr<FaultyStorage> tensorboard_;
  HookConfig config_;
};

TEST_F(TensorBoardTest, HasAFilePerModeWithWhatWasSaved) {
  auto session = open();
  session->set_mode(Mode::train);
  session->begin_step();
  put(*session, "Net_fc:0.weight", {1, -2, 3});
  put(*session, "CrossEntropyLoss_output_0", {0.25});
  session->set_mode(Mode::eval);
  session->begin_step();
  put(*session, "relu_output_0", {4});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(keys(), ElementsAre(key(Mode::eval), key(Mode::train)));
  EXPECT_EQ(file(Mode::train),
            histogram("weights/Net_fc_0.weight", {1, -2, 3}, 0) +
                histogram("all/CrossEntropyLoss_output_0", {0.25}, 0) +
                number("CrossEntropyLoss_output_0", 0.25, 0));
  EXPECT_EQ(file(Mode::eval), histogram("all/relu_output_0", {4}, 1));
  EXPECT_FALSE(session->status().tensorboard_error);
}

TEST_F(TensorBoardTest, WritesIntoNoFileThatHasItsName) {
  const std::string victim = folder_.path("victim");
  const std::string own = tensorboard_->uri() + "/" + key(Mode::train);
  const std::function<void()> traps[] = {
      [&] { std::filesystem::create_hard_link(victim, own); },
      [&] { std::filesystem::create_symlink(victim, own); },
      [&] { std::filesystem::create_symlink(folder_.path("new"), own); },
      [&] { ASSERT_EQ(mkfifo(own.c_str(), 0666), 0); }};
  for (const auto& set_trap : traps) {
    folder_.write("victim", "precious");
    std::filesystem::create_directories(
        std::filesystem::path(own).parent_path());
    set_trap();
    run_ = *open_storage(run_->uri() + "_again");
    auto session = open();
    session->set_mode(Mode::train);
    session->begin_step();
    put(*session, "w", {1});
    EXPECT_TRUE(session->close().ok());
    std::ifstream file(victim);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
              "precious");
    EXPECT_FALSE(std::filesystem::exists(folder_.path("new")));
    std::filesystem::remove_all(tensorboard_->uri());
  }
}

TEST_F(TensorBoardTest, HasEachSavedScalarUnderItsOwnStep) {
  config_.save_all = false;
  config_.save_config.reset();
  auto session = open();
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->save_scalar("lr", step);
    session->save_scalar("lr", step + 0.5);
  }
  ASSERT_TRUE(session->close().ok());
  std::string expected;
  for (int step = 0; step < 3; ++step) {
    expected +=
        number("scalar/lr", step, step) + number("scalar/lr", step + 0.5, step);
  }
  EXPECT_EQ(file(Mode::global), expected);
}

TEST_F(TensorBoardTest, HasNothingWithoutAFolder) {
  config_.tensorboard_dir.reset();
  auto session = open();
  session->begin_step();
  put(*session, "x", {1});
  session->save_scalar("lr", 1);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(TensorBoardTest, ShowsATensorWhoseElementsAreNotSaved) {
  config_.reduction_config = ReductionConfig{.summary = true};
  auto session = open();
  session->begin_step();
  put(*session, "x", {1, 2, 3});
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(file(Mode::global), histogram("all/x", {1, 2, 3}, 0));
  EXPECT_THAT(*run_->list("events/"), IsEmpty());
}

TEST_F(TensorBoardTest, ShowsATensorOfManyMessagesWhole) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1e-3f);
  std::vector<float> values(1000003);
  for (float& x : values) x = normal(random);
  config_.buffer_bytes = 1 << 20;
  auto session = open();
  session->begin_step();
  put(*session, "x", values);
  put(*session, "y", {1});
  ASSERT_TRUE(session->close().ok());
  // The statistics of chunks are merged: equal but for rounding, and so not
  // compared. The record ends with the buckets and the checksum.
  const std::string written = file(Mode::global);
  const std::string x = histogram("all/x", values, 0);
  ASSERT_GT(written.size(), x.size());
  HistogramCounter counter;
  counter.add(DType::float32, values.data(), values.size());
  const std::size_t buckets =
      counter.histogram({.count = 1})->buckets.size() * sizeof(double);
  constexpr std::size_t kChecksum = 4;
  EXPECT_EQ(written.substr(x.size() - kChecksum - buckets, buckets),
            x.substr(x.size() - kChecksum - buckets, buckets));
  EXPECT_EQ(written.substr(x.size()), histogram("all/y", {1}, 0));
}

TEST_F(TensorBoardTest, SkipsWhatMakesNoHistogram) {
  auto session = open();
  session->begin_step();
  put(*session, "flags", DType::boolean, std::vector<std::uint8_t>{0, 1});
  put(*session, "empty", {});
  put(*session, "nothing", {std::nanf(""), 1e30f});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(TensorBoardTest, HandsAStepOfManyTensorsOverInParts) {
  auto session = open();
  session->begin_step();
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    // From one end of the bins to the other: 24 KB each.
    const std::vector<float> values = {-9e19f, 9e19f};
    const std::string name = "t" + std::to_string(i);
    put(*session, name, values);
    expected += histogram("all/" + name, values, 0);
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_GT(expected.size(), std::size_t{4} << 20);
  EXPECT_EQ(file(Mode::global), expected);
}

TEST_F(TensorBoardTest, LosesItsFolderWithoutHarmToTheRun) {
  auto session = open();
  session->begin_step();
  put(*session, "x", {1});
  session->end_step();
  ASSERT_TRUE(session->flush().ok());
  tensorboard_->fail_with("no space left");
  for (int step = 1; step < 4; ++step) {
    session->begin_step();
    put(*session, "x", {1});
  }
  ASSERT_TRUE(session->close().ok());
  const SessionStatus status = session->status();
  EXPECT_FALSE(status.error);
  EXPECT_EQ(status.steps_published, 4u);
  ASSERT_TRUE(status.tensorboard_error);
  EXPECT_EQ(status.tensorboard_error->message, "step 1: no space left");
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("step 1: no space left")));
  EXPECT_THAT(keys(), ElementsAre(key(Mode::global)));
  EXPECT_EQ(run_->list("index/")->size(), 4u);
}

TEST_F(TensorBoardTest, WritesNothingAfterTheRunHasFailed) {
  auto faulty = std::make_shared<FaultyStorage>(run_);
  run_ = faulty;
  auto session = open();
  session->begin_step();
  put(*session, "x", {1});
  session->end_step();
  ASSERT_TRUE(session->flush().ok());
  faulty->fail_with("no space left");
  session->begin_step();
  put(*session, "x", {1});
  EXPECT_FALSE(session->close().ok());
  EXPECT_THAT(keys(), ElementsAre(key(Mode::global)));
}

TEST_F(TensorBoardTest, ADryRunCountsItsBytesAndWritesNone) {
  config_.dry_run = true;
  auto session = open();
  session->begin_step();
  put(*session, "x", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(keys(), IsEmpty());
  const std::uint64_t with = session->status().bytes;
  config_.tensorboard_dir.reset();
  session = open();
  session->begin_step();
  put(*session, "x", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(with - session->status().bytes, histogram("all/x", {1}, 0).size());
}

TEST_F(TensorBoardTest, RefusesAFolderThatNoStorageKnows) {
  SessionOptions options;
  options.config = config_;
  options.config.tensorboard_dir = "ftp://host/tb";
  options.framework = pytorch_framework();
  options.storage = run_;
  const auto session = Session::create(std::move(options));
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().message,
              AllOf(HasSubstr("tensorboard_dir"), HasSubstr("ftp://")));
}

TEST_F(TensorBoardTest, ShowsAStepAsSoonAsItHasEnded) {
  auto session = open();
  std::string expected;
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->save_scalar("lr", step);
    session->end_step();
    ASSERT_TRUE(session->flush().ok());
    expected += number("scalar/lr", step, step);
    EXPECT_EQ(file(Mode::global), expected);
  }
}

TEST_F(TensorBoardTest, BeginsANewFileWhenATrainingIsResumed) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto session = open();
    session->begin_step();
    session->save_scalar("lr", attempt);
    ASSERT_TRUE(session->close().ok());
    ASSERT_TRUE(run_->remove("training_job_end.ts").ok());
  }
  EXPECT_EQ(file(Mode::global, 0), number("scalar/lr", 0, 0));
  EXPECT_EQ(file(Mode::global, 1), number("scalar/lr", 1, 0));
}

TEST_F(TensorBoardTest, KeepsWholeRecordsWhenTheDiskIsFull) {
  auto session = open();
  session->begin_step();
  put(*session, "x", {-9e19f, 9e19f});  // 24 KB
  session->end_step();
  ASSERT_TRUE(session->flush().ok());
  const std::string before = file(Mode::global);
  {
    const FileSizeLimit full(before.size() + 1000);
    session->begin_step();
    put(*session, "x", {-9e19f, 9e19f});
    session->end_step();
    ASSERT_TRUE(session->flush().ok());
  }
  EXPECT_TRUE(session->status().tensorboard_error);
  EXPECT_EQ(file(Mode::global), before);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(TensorBoardTest, GivesEachFurtherWorkerAFolderOfItsOwn) {
  config_.include_workers = IncludeWorkers::all;
  auto session = open();
  session->set_worker(1, 2);
  session->begin_step();
  session->save_scalar("lr", 1);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(
      keys(),
      ElementsAre(testing::StartsWith("GLOBAL/worker_1/events.out.tfevents.")));
}

TEST_F(TensorBoardTest, GathersStepsWhereTheStorageCannotAppend) {
  tensorboard_ = std::make_shared<FaultyStorage>(
      *open_storage("memory://tensorboard_test_whole_objects"));
  auto session = open();
  std::string first, second;
  for (int step = 0; step < 40; ++step) {
    session->begin_step();
    session->save_scalar("lr", step);
    session->end_step();
    std::string record;
    append_scalar_record("scalar/lr", step, clock_.wall_seconds(), step,
                         record);
    // The step at 31.5 s is the last of the first object.
    (step <= 30 ? first : second) += record;
    clock_.advance(std::chrono::seconds(1));
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(keys(),
              ElementsAre(key(Mode::global), key(Mode::global, 1, 32.5)));
  EXPECT_EQ(get_object(*tensorboard_, key(Mode::global))->text(), first);
  EXPECT_EQ(get_object(*tensorboard_, key(Mode::global, 1, 32.5))->text(),
            second);
}

TEST_F(TensorBoardTest, RemovesItsOldestFilesFromARunWithASizeLimit) {
  config_.max_run_bytes = 4'000'000;
  auto session = open();
  for (int step = 0; step < 200; ++step) {
    session->begin_step();
    put(*session, "x", {-9e19f, 9e19f});  // 24 KB
  }
  ASSERT_TRUE(session->close().ok());
  std::uint64_t bytes = 0;
  const auto entries = *tensorboard_->list("", "");
  for (const ObjectEntry& entry : entries) bytes += entry.bytes;
  EXPECT_GT(entries.size(), 1u);
  EXPECT_LE(bytes, 1'100'000u);
  EXPECT_GT(bytes, 500'000u);
  EXPECT_THAT(keys(), testing::Not(testing::Contains(key(Mode::global))));
}

}  // namespace
}  // namespace smdebug
