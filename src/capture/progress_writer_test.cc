#include "capture/progress_writer.h"

#include <cmath>

#include <gmock/gmock.h>

#include "capture/session_fixture_testing.h"
#include "capture/step_writer.h"
#include "format/progress_file.h"
#include "store/forwarding_storage.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A storage on which `progress.json` cannot be created.
class RefusingStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    if (key == kProgressKey) return Error{Error::Code::io, "no space left"};
    return ForwardingStorage::create(key);
  }
};

class ProgressWriterTest : public SessionFixture {
 protected:
  RunProgress progress() const {
    const auto read = parse_progress_file(text(kProgressKey));
    EXPECT_TRUE(read.ok()) << read.error().message;
    return read ? *read : RunProgress();
  }

  void publish(Step step) {
    ++counts_.steps;
    writer_.published({step, Mode::train, step}, counts_, 0, 0);
  }

  FakeClock clock_{1000};
  WriteCounts counts_;
  ProgressWriter writer_{storage_, RunProgress(), clock_, log_};
};

TEST_F(ProgressWriterTest, WritesAtTheFirstStepAndThenAtMostEvery30Seconds) {
  EXPECT_FALSE(is_there(kProgressKey));
  publish(0);
  EXPECT_EQ(progress().steps, 1u);
  EXPECT_EQ(progress().written_seconds, 1000);
  clock_.advance(std::chrono::seconds(29));
  publish(1);
  EXPECT_EQ(progress().steps, 1u);
  clock_.advance(std::chrono::seconds(1));
  publish(2);
  EXPECT_EQ(progress().steps, 3u);
  EXPECT_EQ(progress().last_step, 2);
  EXPECT_EQ(progress().written_seconds, 1030);
}

TEST_F(ProgressWriterTest, BeatsWithoutStepsEvery30Seconds) {
  writer_.beat();
  EXPECT_EQ(progress().steps, 0u);
  clock_.advance(std::chrono::seconds(29));
  writer_.beat();
  EXPECT_EQ(progress().written_seconds, 1000);
  clock_.advance(std::chrono::seconds(1));
  writer_.beat();
  EXPECT_EQ(progress().written_seconds, 1030);
}

TEST_F(ProgressWriterTest, WritesWhatItHasNotWrittenWhenItIsClosed) {
  publish(0);
  publish(1);
  writer_.close();
  EXPECT_EQ(progress().steps, 2u);
  EXPECT_FALSE(progress().has_ended);
}

TEST_F(ProgressWriterTest, KeepsTheFirstLossesByName) {
  std::vector<std::string> names;
  for (char c = 'z'; c >= 'a'; --c) names.emplace_back(1, c);
  for (const std::string& name : names) writer_.note_loss(name, 1);
  publish(0);
  ASSERT_THAT(progress().losses, SizeIs(kMaxProgressLosses));
  EXPECT_EQ(progress().losses.front().tensor, "a");
}

TEST_F(ProgressWriterTest, ForgetsTheLossOfAStepThatWasNotPublished) {
  writer_.note_loss("loss", 7);
  writer_.abandon();
  publish(0);
  EXPECT_THAT(progress().losses, SizeIs(0));
}

TEST_F(ProgressWriterTest, LogsAFailureOnceAndTheRunIsRecorded) {
  storage_ = std::make_shared<RefusingStorage>(storage_);
  auto session = open();
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    put(*session, "a", {1});
  }
  EXPECT_TRUE(session->close().ok());
  EXPECT_TRUE(is_there(index_file_key(2, "worker_0")));
  EXPECT_TRUE(is_there(kEndMarkerKey));
  EXPECT_FALSE(is_there(kProgressKey));
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("cannot write 'progress.json'"));
  EXPECT_THAT(log_.lines()[0], HasSubstr("no space left"));
}

TEST_F(ProgressWriterTest, NamesTheExceptionThatEndsTheTraining) {
  auto session = open();
  session->begin_step();
  put(*session, "fc.weight", {1, 2, 3});
  ASSERT_TRUE(session->close("ValueError").ok());
  EXPECT_TRUE(progress().has_ended);
  EXPECT_EQ(progress().raised, "ValueError");
}

TEST_F(ProgressWriterTest, ShowsStepsOfEachModeAndTheLastLossesOfASession) {
  auto session = open();
  const auto step = [&](Mode mode, float loss) {
    session->set_mode(mode);
    session->begin_step();
    put(*session, "MSELoss_output_0", {loss});
    put(*session, "fc.weight", {1, 2, 3});
    session->end_step();
  };
  step(Mode::train, 8);
  step(Mode::train, 4);
  step(Mode::eval, 0.5);
  step(Mode::train, std::nanf(""));
  ASSERT_TRUE(session->close().ok());
  const RunProgress last = progress();
  EXPECT_TRUE(last.has_ended);
  EXPECT_EQ(last.error, "");
  EXPECT_EQ(last.framework, "pytorch");
  EXPECT_EQ(last.steps, 4u);
  EXPECT_EQ(last.last_step, 3);
  ASSERT_THAT(last.modes, SizeIs(2));
  EXPECT_EQ(last.modes[0].mode, Mode::train);
  EXPECT_EQ(last.modes[0].steps, 3u);
  EXPECT_EQ(last.modes[0].last, 2);
  EXPECT_EQ(last.modes[1].steps, 1u);
  ASSERT_THAT(last.losses, SizeIs(2));
  EXPECT_EQ(last.losses[0].tensor, "MSELoss_output_0");
  EXPECT_EQ(last.losses[0].mode, Mode::train);
  EXPECT_TRUE(std::isnan(last.losses[0].value));
  EXPECT_EQ(last.losses[0].step, 3);
  EXPECT_EQ(last.losses[1].value, 0.5);
}

TEST_F(ProgressWriterTest, CountsTensorsThatAreSavedAsLosses) {
  config_.save_all = false;
  auto session = open();
  session->begin_step();
  const float loss[] = {1, 3};
  const std::int64_t shape[] = {2};
  const std::string collections[] = {"losses"};
  ASSERT_TRUE(session
                  ->save_tensor("mine",
                                {DType::float32,
                                 reinterpret_cast<const std::byte*>(loss),
                                 shape,
                                 {}},
                                collections)
                  .ok());
  ASSERT_TRUE(session->close().ok());
  ASSERT_THAT(progress().losses, SizeIs(1));
  EXPECT_EQ(progress().losses[0].tensor, "mine");
  EXPECT_EQ(progress().losses[0].value, 2);  // the mean
}

TEST_F(ProgressWriterTest, IsWrittenByTheFirstOfSeveralWorkers) {
  config_.include_workers = IncludeWorkers::all;
  auto session = open();
  session->set_worker(1, 2);
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_FALSE(is_there(kProgressKey));
}

TEST_F(ProgressWriterTest, IsNotWrittenInADryRun) {
  config_.dry_run = true;
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_FALSE(is_there(kProgressKey));
}

}  // namespace
}  // namespace smdebug
