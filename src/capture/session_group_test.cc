#include "smdebug/capture/session_group.h"

#include <array>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/store/open_storage.h"

#include "format/file_names.h"
#include "format/index_file.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::array<const char*, 2> kDevices = {"/device:CPU:0",
                                                 "/device:CPU:1"};

class SessionGroupTest : public ::testing::Test {
 protected:
  SessionGroupTest() {
    static int next = 0;
    storage_ =
        *open_storage("memory://session_group_test_" + std::to_string(next++));
    config_.out_dir = storage_->uri();
    config_.save_all = true;
    config_.include_workers = IncludeWorkers::all;
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    config_.save_config = SaveConfig(every_step);
    for (auto& session : sessions_) session = open();
  }

  std::unique_ptr<Session> open() {
    SessionOptions options;
    options.config = config_;
    options.framework = pytorch_framework();
    options.storage = storage_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  Status spread(SessionGroup& group) {
    const std::array<Session*, 1> further = {sessions_[1].get()};
    const std::vector<std::string> workers(kDevices.begin(), kDevices.end());
    return group.spread(further, workers);
  }

  static TensorView view(const float& value) {
    static constexpr std::array<std::int64_t, 1> kShape = {1};
    return {
        DType::float32, reinterpret_cast<const std::byte*>(&value), kShape, {}};
  }

  static Status save(SessionGroup& group, float value) {
    return group.save_tensor("a", view(value), {});
  }

  // The names of the tensors that a worker saved in a step.
  std::vector<std::string> saved(Step step, std::string_view worker) const {
    const auto bytes = get_object(*storage_, index_file_key(step, worker));
    if (!bytes) return {};
    const auto file = parse_index_file(bytes->text(), IndexParts::everything);
    EXPECT_TRUE(file.ok());
    std::vector<std::string> names;
    for (const IndexedTensor& tensor : file->tensors)
      names.push_back(std::string(tensor.name));
    return names;
  }

  std::shared_ptr<Storage> storage_;
  HookConfig config_;
  std::array<std::unique_ptr<Session>, 2> sessions_;
};

TEST_F(SessionGroupTest, OfOneSessionBehavesLikeIt) {
  SessionGroup group(*sessions_[0]);
  EXPECT_EQ(group.size(), 1U);
  EXPECT_TRUE(group.has_worker(0));
  EXPECT_FALSE(group.has_worker(1));
  EXPECT_FALSE(group.has_worker(-1));
  group.set_worker(0, 1);
  EXPECT_TRUE(group.begin_step());
  ASSERT_TRUE(save(group, 1).ok());
  ASSERT_TRUE(group.close().ok());
  EXPECT_THAT(saved(0, "worker_0"), ElementsAre("a"));
  EXPECT_EQ(group.status().tensors, 1U);
}

TEST_F(SessionGroupTest, GivesEachWorkerItsNameAndTheModeOfTheFirst) {
  SessionGroup group(*sessions_[0]);
  sessions_[0]->set_mode(Mode::eval);
  ASSERT_TRUE(spread(group).ok());
  group.set_worker(5, 9);  // they have their names
  EXPECT_TRUE(group.begin_step());
  EXPECT_EQ(sessions_[0]->worker(), kDevices[0]);
  EXPECT_EQ(sessions_[1]->worker(), kDevices[1]);
  EXPECT_EQ(sessions_[1]->step(), (StepId{0, Mode::eval, 0}));
  ASSERT_TRUE(group.close().ok());
}

TEST_F(SessionGroupTest, SavesUnderEveryWorkerWithoutASelection) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  group.begin_step();
  ASSERT_TRUE(save(group, 1).ok());
  group.save_scalar("accuracy", 0.5);
  ASSERT_TRUE(group.close().ok());
  for (const char* device : kDevices)
    EXPECT_THAT(saved(0, device), ElementsAre("a", "scalar/accuracy"));
  EXPECT_EQ(group.status().tensors, 4U);
}

TEST_F(SessionGroupTest, SavesUnderTheWorkerThatTheThreadHasSelected) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  group.begin_step();
  EXPECT_EQ(group.select(1), std::nullopt);
  ASSERT_TRUE(save(group, 1).ok());
  EXPECT_EQ(group.select(std::nullopt), 1U);
  ASSERT_TRUE(group.close().ok());
  EXPECT_THAT(saved(0, kDevices[0]), IsEmpty());
  EXPECT_THAT(saved(0, kDevices[1]), ElementsAre("a"));
}

TEST_F(SessionGroupTest, KeepsASelectionToItsThread) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  group.select(1);
  std::thread other([&] {
    EXPECT_THAT(group.selected(), SizeIs(2));
    group.select(0);
  });
  other.join();
  EXPECT_THAT(group.selected(), ElementsAre(sessions_[1].get()));
}

TEST_F(SessionGroupTest, TakesASelectionWithoutASessionForAllWorkers) {
  SessionGroup group(*sessions_[0]);
  group.select(1);
  EXPECT_THAT(group.selected(), ElementsAre(sessions_[0].get()));
}

TEST_F(SessionGroupTest, PutsATensorOnceForEachSelectedWorker) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  const GroupSlot shared = group.tensor("shared");
  const GroupSlot own = group.tensor("own");
  group.begin_step();
  EXPECT_TRUE(shared.is_due());
  shared.put(view(1));
  group.select(1);
  own.put(view(2));
  ASSERT_TRUE(group.close().ok());
  EXPECT_THAT(saved(0, kDevices[0]), ElementsAre("shared"));
  EXPECT_THAT(saved(0, kDevices[1]), ElementsAre("shared", "own"));
}

TEST_F(SessionGroupTest, PutsOneTensorOfEachWorker) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  const GroupSlot both = group.tensor("both");
  const GroupSlot second = group.tensor("second");
  const float values[] = {1, 2};
  const std::array<TensorView, 2> tensors = {view(values[0]), view(values[1])};
  group.begin_step();
  EXPECT_TRUE(both.put_each(tensors).ok());
  EXPECT_FALSE(both.put_each(std::span(tensors).first(1)).ok());
  group.select(1);
  EXPECT_TRUE(second.put_each(tensors).ok());
  ASSERT_TRUE(group.close().ok());
  EXPECT_THAT(saved(0, kDevices[0]), ElementsAre("both"));
  EXPECT_THAT(saved(0, kDevices[1]), ElementsAre("both", "second"));
}

TEST_F(SessionGroupTest, ReportsASkippedTensorOnce) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  group.begin_step();
  group.tensor("sparse").skip("it is sparse");
  EXPECT_THAT(group.status().skipped,
              ElementsAre(Pair("sparse", "it is sparse")));
  EXPECT_THAT(sessions_[1]->status().skipped, SizeIs(1))
      << "the collections of no worker list it";
}

TEST_F(SessionGroupTest, LetsTheFirstSelectedWorkerAnswer) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  EXPECT_FALSE(group.has_begun());
  const GroupSlot slot = group.tensor("a");
  EXPECT_TRUE(slot.can_match());
  EXPECT_TRUE(slot.is_next_due());
  group.select(1);
  group.begin_step();
  EXPECT_TRUE(group.has_begun());
  EXPECT_EQ(&group.first_selected(), sessions_[1].get());
  EXPECT_TRUE(slot.is_due());
  group.select(0);
  EXPECT_FALSE(slot.is_due());
}

TEST_F(SessionGroupTest, GivesASlotThatIsOlderThanAWorkerToTheOthers) {
  SessionGroup group(*sessions_[0]);
  const GroupSlot slot = group.tensor("a");
  ASSERT_TRUE(spread(group).ok());
  group.begin_step();
  slot.put(view(1));
  ASSERT_TRUE(group.close().ok());
  EXPECT_THAT(saved(0, kDevices[0]), ElementsAre("a"));
  EXPECT_THAT(saved(0, kDevices[1]), IsEmpty());
}

TEST_F(SessionGroupTest, CountsTheStepsOfASelectedWorkerOnly) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  group.begin_step();
  group.select(1);
  group.begin_step();
  group.select(std::nullopt);
  EXPECT_EQ(sessions_[0]->step().global, 0);
  EXPECT_EQ(sessions_[1]->step().global, 1);
}

TEST_F(SessionGroupTest, RecordsWorkersOnSeveralThreadsAtTheSameTime) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  const auto train = [&](std::size_t worker) {
    group.select(worker);
    for (int step = 0; step < 20; ++step) {
      group.begin_step();
      EXPECT_TRUE(save(group, static_cast<float>(step)).ok());
      group.end_step();
    }
    group.select(std::nullopt);
  };
  std::thread other(train, 1);
  train(0);
  other.join();
  ASSERT_TRUE(group.close().ok());
  for (const char* device : kDevices)
    EXPECT_THAT(saved(19, device), ElementsAre("a"));
  EXPECT_EQ(group.status().tensors, 40U);
}

TEST_F(SessionGroupTest, PausesAndResumesEveryWorker) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  group.select(0);
  group.pause();
  EXPECT_TRUE(sessions_[1]->is_paused());
  EXPECT_FALSE(group.begin_step());
  group.resume();
  EXPECT_FALSE(sessions_[1]->is_paused());
}

TEST_F(SessionGroupTest, RefusesWorkersOnceTheRunHasBegun) {
  SessionGroup group(*sessions_[0]);
  group.begin_step();
  const Status refused = spread(group);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Error::Code::invalid_argument);
  EXPECT_EQ(group.size(), 1U);
}

TEST_F(SessionGroupTest, RefusesASecondSpreadAndNamesThatDoNotMatch) {
  SessionGroup group(*sessions_[0]);
  const std::array<Session*, 1> further = {sessions_[1].get()};
  const std::vector<std::string> one = {"worker_0"};
  EXPECT_FALSE(group.spread(further, one).ok());
  EXPECT_EQ(group.size(), 1U);
  EXPECT_TRUE(spread(group).ok());
  EXPECT_FALSE(spread(group).ok());
}

TEST_F(SessionGroupTest, ReachesEverySessionAndReturnsTheFirstFailure) {
  SessionGroup group(*sessions_[0]);
  ASSERT_TRUE(spread(group).ok());
  HookConfig wrong = config_;
  wrong.include_collections = {"no_such_collection"};
  EXPECT_FALSE(group.set_config(wrong).ok());
  config_.dry_run = true;
  EXPECT_TRUE(group.set_config(config_).ok());
  for (const auto& session : sessions_) EXPECT_TRUE(session->config().dry_run);
}

// --- reports ---

TEST(MergedStatus, AddsUpTensorsAndKeepsTheStepsOfTheFirst) {
  std::array<SessionStatus, 2> statuses;
  statuses[0].steps = 3;
  statuses[0].last_step = 2;
  statuses[0].tensors = 5;
  statuses[0].bytes = 100;
  statuses[0].skipped = {{"a", "of the first"}, {"b", "of the first"}};
  statuses[1].steps = 4;
  statuses[1].tensors = 7;
  statuses[1].bytes = 20;
  statuses[1].dropped_tensors = 1;
  statuses[1].skipped = {{"b", "of the second"}};
  const SessionStatus merged = merged_status(statuses);
  EXPECT_EQ(merged.steps, 3U);
  EXPECT_EQ(merged.last_step, 2);
  EXPECT_EQ(merged.tensors, 12U);
  EXPECT_EQ(merged.bytes, 120U);
  EXPECT_EQ(merged.dropped_tensors, 1U);
  EXPECT_THAT(merged.skipped, ElementsAre(Pair("a", "of the first"),
                                          Pair("b", "of the second")));
}

TEST(MergedStatus, IsThatOfTheFirstWorkerThatFailed) {
  std::array<SessionStatus, 3> statuses;
  statuses[0].tensors = 1;
  statuses[1].state = SessionStatus::State::failed;
  statuses[1].error = Error{Error::Code::io, "the disk is full"};
  statuses[1].error_step = 8;
  statuses[2].error = Error{Error::Code::io, "another failure"};
  const SessionStatus merged = merged_status(statuses);
  EXPECT_EQ(merged.state, SessionStatus::State::failed);
  EXPECT_THAT(merged.error->message, HasSubstr("disk is full"));
  EXPECT_EQ(merged.error_step, 8);
  EXPECT_EQ(merged.tensors, 1U);
}

TEST(MergedCost, AddsUpSecondsAndBytesButNotSteps) {
  std::array<SessionCost, 2> costs;
  costs[0] = {.step_thread_seconds = 0.25,
              .wait_seconds = 0.5,
              .writer_cpu_seconds = 1,
              .bytes_captured = 10,
              .bytes_written = 20,
              .steps = 3,
              .run_seconds = 60};
  costs[1] = {.step_thread_seconds = 0.5,
              .wait_seconds = 0.25,
              .writer_cpu_seconds = 2,
              .bytes_captured = 1,
              .bytes_written = 2,
              .steps = 4,
              .run_seconds = 50};
  const SessionCost merged = merged_cost(costs);
  EXPECT_EQ(merged.step_thread_seconds, 0.75);
  EXPECT_EQ(merged.wait_seconds, 0.75);
  EXPECT_EQ(merged.writer_cpu_seconds, 3);
  EXPECT_EQ(merged.bytes_captured, 11U);
  EXPECT_EQ(merged.bytes_written, 22U);
  EXPECT_EQ(merged.steps, 3U);
  EXPECT_EQ(merged.run_seconds, 60);
}

}  // namespace
}  // namespace smdebug
