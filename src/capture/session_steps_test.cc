// Tests when steps begin and end, how they are counted, and which threads may
// capture in them.

#include <algorithm>
#include <map>
#include <random>
#include <semaphore>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"
#include "format/file_names.h"
#include "tests/support/fork_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using SessionStepsTest = SessionFixture;

TEST_F(SessionStepsTest, WritesEachDueStepWithTheValuesOfThatStep) {
  every_step(2);
  auto session = open();
  for (int step = 0; step < 4; ++step) {
    const bool is_due = session->begin_step();
    EXPECT_EQ(is_due, step % 2 == 0);
    put(*session, "a", {1.0f * step, 2, 3});
    put(*session, "b", {-1});
  }
  ASSERT_TRUE(session->close().ok());

  EXPECT_THAT(records(0),
              UnorderedElementsAre(std::pair("a", std::vector<float>{0, 2, 3}),
                                   std::pair("b", std::vector<float>{-1})));
  EXPECT_THAT(records(2).at("a"), ElementsAre(2, 2, 3));
  EXPECT_FALSE(is_there(index_file_key(1, "worker_0")));
  EXPECT_FALSE(is_there(index_file_key(3, "worker_0")));
  EXPECT_TRUE(is_there(kEndMarkerKey));
  EXPECT_FALSE(is_there(kClaimKey));
}

TEST_F(SessionStepsTest, CopiesBeforePutReturns) {
  auto session = open();
  session->begin_step();
  std::vector<float> values(1000, 1.0f);
  put(*session, "a", values);
  std::ranges::fill(values, 2.0f);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0).at("a"), ::testing::Each(1.0f));
}

TEST_F(SessionStepsTest, PublishesAStepWhenItEndsAndNotBefore) {
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->flush().ok());
  EXPECT_FALSE(is_there(index_file_key(0, "worker_0")));
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
  EXPECT_TRUE(is_there(collections_file_key("worker_0")));
}

TEST_F(SessionStepsTest, CountsStepsOfEachModeAndOfAll) {
  auto session = open();
  for (Mode mode : {Mode::train, Mode::train, Mode::eval, Mode::train}) {
    session->set_mode(mode);
    session->begin_step();
    put(*session, "a", {1});
  }
  EXPECT_EQ(session->step(), (StepId{3, Mode::train, 2}));
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(index(2).mode, Mode::eval);
  EXPECT_EQ(index(2).mode_step, 0);
  EXPECT_EQ(index(3).mode, Mode::train);
  EXPECT_EQ(index(3).mode_step, 2);
}

TEST_F(SessionStepsTest, NumbersOutputsOverRepeatedCallsAndAnewEachStep) {
  auto session = open();
  const ModuleSlots relu = session->module("relu");
  const std::int64_t shape[] = {1};
  for (int step = 0; step < 2; ++step) {
    session->begin_step();
    for (float value : {1.0f, 2.0f})
      relu.put_output(view({value + 10.0f * step}, shape));
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(
      records(1),
      UnorderedElementsAre(std::pair("relu_output_0", std::vector<float>{11}),
                           std::pair("relu_output_1", std::vector<float>{12})));
}

TEST_F(SessionStepsTest, NamesParametersAndGradientsAfterTheRoot) {
  auto session = open();
  session->begin_step();
  const std::int64_t shape[] = {1};
  session->parameter("Net", "fc.weight").put(view({1}, shape));
  session->gradient("Net", "fc.weight").put(view({2}, shape));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0),
              UnorderedElementsAre(
                  std::pair("Net_fc.weight", std::vector<float>{1}),
                  std::pair("gradient/Net_fc.weight", std::vector<float>{2})));
}

TEST_F(SessionStepsTest, TakesTensorsOfOtherThreadsIntoTheOpenStep) {
  auto session = open();
  constexpr int kSteps = 50;
  constexpr int kTensors = 20;
  for (int step = 0; step < kSteps; ++step) {
    session->begin_step();
    std::jthread other([&] {
      for (int i = 0; i < kTensors; ++i)
        put(*session, "other/" + std::to_string(i), {1.0f * step});
    });
    for (int i = 0; i < kTensors; ++i)
      put(*session, "own/" + std::to_string(i), {1.0f * step});
  }
  ASSERT_TRUE(session->close().ok());
  for (int step = 0; step < kSteps; ++step) {
    const auto values = records(step);
    ASSERT_THAT(values, SizeIs(2 * kTensors));
    for (const auto& [name, value] : values)
      ASSERT_THAT(value, ElementsAre(1.0f * step)) << name;
  }
}

TEST_F(SessionStepsTest, GoesOnInAThreadThatTakesTheStepOver) {
  auto session = open();
  std::jthread([&] { session->begin_step(); }).join();
  const float number = 7;
  const std::vector<std::int64_t> one = {1};
  const TensorView seven = {
      DType::float32, reinterpret_cast<const std::byte*>(&number), one, {}};
  // Not its owner: what is saved waits for the next step.
  ASSERT_TRUE(session->save_tensor("before", seven, {}).ok());
  session->bind_to_current_thread();
  ASSERT_TRUE(session->save_tensor("after", seven, {}).ok());
  session->begin_step();
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), ElementsAre(Pair("after", ElementsAre(7))));
  EXPECT_THAT(records(1), ElementsAre(Pair("before", ElementsAre(7))));
}

TEST_F(SessionStepsTest, GivesTheTurnToOneThreadAtATime) {
  auto session = open();
  auto turn = session->try_turn();
  ASSERT_TRUE(turn);
  EXPECT_TRUE(session->try_turn()) << "a rule may flush within a step";
  session->begin_step();
  std::jthread([&] { EXPECT_FALSE(session->try_turn()); }).join();
  turn = {};
  std::jthread([&] {
    auto other = session->try_turn();
    ASSERT_TRUE(other);
    EXPECT_TRUE(session->flush());
    other.return_ownership();
  }).join();
  put(*session, "a", {1});
  EXPECT_TRUE(session->save_tensor("now", view({2}, std::vector{1L}), {}));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), ElementsAre(Pair("a", ElementsAre(1)),
                                      Pair("now", ElementsAre(2))));
}

TEST_F(SessionStepsTest, HasATurnInTheChildOfAForkWhoseThreadsAreLost) {
  auto session = open();
  session->begin_step();
  std::binary_semaphore has_turn(0), has_forked(0);
  std::jthread other([&] {
    const auto turn = session->try_turn();
    has_turn.release();
    has_forked.acquire();
  });
  has_turn.acquire();
  EXPECT_FALSE(session->try_turn());
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    session->after_fork_in_child();
    _exit(session->try_turn() ? 0 : 1);
  }
  has_forked.release();
  other.join();
  int result = -1;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionStepsTest, DoesNothingInTheChildOfAFork) {
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  const pid_t child = fork_when_others_sleep();
  if (child == 0) {
    session->after_fork_in_child();
    session->begin_step();
    session->tensor("a").put({});
    session->save_scalar("x", 1);
    _exit(session->flush().ok() && session->close().ok() ? 0 : 1);
  }
  int result = -1;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  put(*session, "b", {2});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), SizeIs(2));
}

TEST_F(SessionStepsTest, MeasuresWhatItCosts) {
  auto session = open();
  for (int step = 0; step < 10; ++step) {
    session->begin_step();
    put(*session, "a", std::vector<float>(100000, 1.0f));
  }
  ASSERT_TRUE(session->close().ok());
  const SessionCost cost = session->cost();
  EXPECT_GT(cost.step_thread_seconds, 0);
  EXPECT_LT(cost.step_thread_seconds, cost.run_seconds);
  EXPECT_GT(cost.writer_cpu_seconds, 0);
  EXPECT_EQ(cost.bytes_captured, 4000000u);
  EXPECT_GT(cost.bytes_written, 4000000u);
  EXPECT_EQ(cost.steps, 10u);
}

TEST_F(SessionStepsTest, WritesWhatAModelOfARunPredictsOverRandomTrainings) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  config_.buffer_bytes = 1 << 20;
  every_step(3);
  auto session = open();
  std::map<Step, std::map<std::string, std::vector<float>>> model;
  for (Step step = 0; step < 60; ++step) {
    session->begin_step();
    for (int i = random() % 12; i > 0; --i) {
      const std::string name = "t" + std::to_string(random() % 8);
      std::vector<float> values(1 + random() % (random() % 9 ? 300 : 600000));
      std::ranges::generate(values,
                            [&] { return static_cast<float>(random()); });
      put(*session, name, values);
      if (step % 3 == 0) model[step][name] = std::move(values);
    }
  }
  ASSERT_TRUE(session->close().ok());
  for (const auto& [step, tensors] : model)
    EXPECT_EQ(records(step), tensors) << "step " << step;
}

}  // namespace
}  // namespace smdebug
