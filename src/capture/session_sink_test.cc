// Tests the observations of the running step that a sink receives.

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using SessionSinkTest = SessionFixture;

TEST_F(SessionSinkTest, ShowsASinkASharedTensorUnderEachName) {
  struct Names : ObservationSink {
    void on_collections(std::size_t, std::span<const TensorGroup>) override {}
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    void on_step(const StepView& step) override {
      if (step.phase != StepPhase::complete) return;
      for (const Observation& each : step.tensors) seen.emplace_back(each.name);
    }
    std::vector<std::string> seen;
  } sink;
  auto session = open();
  session->set_sink(&sink);
  session->begin_step();
  const std::vector<float> values = {1, 2};
  const std::int64_t shape[] = {2};
  const std::vector<TensorSlot> names = {session->tensor("first"),
                                         session->tensor("second")};
  session->put_shared(names, view(values, shape));
  session->end_step();
  EXPECT_THAT(sink.seen, UnorderedElementsAre("first", "second"));
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionSinkTest, ShowsASinkTheStepBeforeTheUpdateAndWhenItIsComplete) {
  class Seen : public ObservationSink {
   public:
    void on_collections(std::size_t,
                        std::span<const TensorGroup> groups) override {
      collections = groups.size();
    }
    void on_step(const StepView& step) override {
      for (const Observation& seen : step.tensors) {
        lines.push_back(
            std::to_string(step.step.global) +
            (step.phase == StepPhase::complete ? " complete " : " before ") +
            std::string(seen.name) + " " +
            std::to_string(seen.statistics->max));
      }
    }
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    std::size_t collections = 0;
    std::vector<std::string> lines;
  } seen;

  auto session = open();
  session->set_sink(&seen);
  EXPECT_GT(seen.collections, 0u);
  session->begin_step();
  put(*session, "g", {1, 5});
  session->before_update();
  put(*session, "h", {2});
  session->begin_step();
  EXPECT_THAT(seen.lines,
              ElementsAre("0 before g 5.000000", "0 complete g 5.000000",
                          "0 complete h 2.000000"));
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionSinkTest, TellsASinkWhichTensorsWereAssignedToACollection) {
  class Members : public ObservationSink {
   public:
    void on_collections(std::size_t,
                        std::span<const TensorGroup> groups) override {
      for (const TensorGroup& group : groups)
        if (group.name == "losses") losses = group.tensor_names;
    }
    void on_step(const StepView&) override {}
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    std::vector<std::string> losses;
  } seen;

  auto session = open();
  session->set_sink(&seen);
  session->begin_step();
  const std::vector<std::string> collections = {"losses"};
  session->tensor("cost", collections);
  put(*session, "cost", {1});
  EXPECT_THAT(seen.losses, ElementsAre("cost"));
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionSinkTest, TellsASinkWhichTensorsWereSavedIntoACollection) {
  class Members : public ObservationSink {
   public:
    void on_collections(std::size_t,
                        std::span<const TensorGroup> groups) override {
      members.clear();
      for (const TensorGroup& group : groups)
        if (!group.tensor_names.empty())
          members[group.name] = group.tensor_names;
    }
    DataNeed data_need(std::size_t, std::string_view name) override {
      known_when_asked[std::string(name)] = members;
      return DataNeed::statistics;
    }
    void on_step(const StepView&) override {}
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    std::map<std::string, std::vector<std::string>> members;
    std::map<std::string, decltype(members)> known_when_asked;
  } seen;

  auto session = open();
  const std::int64_t shape[] = {1};
  const std::vector<std::string> losses = {"losses"}, own = {"my_tensors"};
  session->set_sink(&seen);
  ASSERT_TRUE(session->save_tensor("early", view({1}, shape), losses).ok());
  session->begin_step();
  ASSERT_TRUE(session->save_tensor("late", view({1}, shape), own).ok());
  const auto early = Pair("losses", ElementsAre("early"));
  const auto late = Pair("my_tensors", ElementsAre("late"));
  EXPECT_THAT(seen.known_when_asked.at("early"), ElementsAre(early));
  EXPECT_THAT(seen.known_when_asked.at("late"), ElementsAre(early, late));

  session->set_sink(nullptr);
  session->set_sink(&seen);
  EXPECT_THAT(seen.members, ElementsAre(early, late)) << "also a later sink";
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionSinkTest, ShowsASinkTheElementsOfARunningStepWhereItLooksAtThem) {
  class Values : public ObservationSink {
   public:
    void on_collections(std::size_t, std::span<const TensorGroup>) override {}
    void on_step(const StepView& step) override {
      for (const Observation& seen : step.tensors) {
        const auto elements = seen.values->load();
        const auto* first =
            elements ? reinterpret_cast<const float*>(elements->data) : nullptr;
        values[std::string(seen.name)] =
            elements ? std::vector<float>(first, first + elements->size())
                     : std::vector<float>();
      }
    }
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    DataNeed data_need(std::size_t, std::string_view name) override {
      ++questions;
      return name == "labels" ? DataNeed::values
             : name == "loss" ? DataNeed::statistics
                              : DataNeed::none;
    }
    int questions = 0;
    std::map<std::string, std::vector<float>> values;
  } seen;

  auto session = open();
  session->set_sink(&seen);
  const std::vector<float> matrix = {1, 2, 3, 4};
  const std::vector<std::int64_t> square = {2, 2}, transposed = {1, 2};
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->tensor("labels").put(
        {DType::float32, reinterpret_cast<const std::byte*>(matrix.data()),
         square, transposed});
    put(*session, "loss", {5});
    put(*session, "weight", {6});
  }
  session->before_update();
  EXPECT_THAT(seen.values,
              ElementsAre(std::pair("labels", std::vector<float>{1, 3, 2, 4}),
                          std::pair("loss", std::vector<float>())));
  EXPECT_EQ(seen.questions, 3);
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

}  // namespace
}  // namespace smdebug
