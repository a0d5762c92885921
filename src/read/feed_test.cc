#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records the observations of a sink as text that outlives the call.
class KeptObservations : public ObservationSink {
 public:
  void on_collections(std::size_t run,
                      std::span<const TensorGroup> collections) override {
    lines.push_back("run " + std::to_string(run) + " has " +
                    std::to_string(collections.size()) + " collections");
  }
  void on_step(const StepView& step) override {
    EXPECT_EQ(step.phase, StepPhase::complete);
    lines.push_back("step " + std::to_string(step.step.global));
    for (const Observation& o : step.tensors) keep(o);
  }
  void on_tick(double) override { FAIL(); }
  void on_run_end(std::size_t) override { FAIL(); }

  std::vector<std::string> lines;

 private:
  void keep(const Observation& o) {
    std::string line = std::string(o.name) + " of " + std::string(o.worker);
    for (std::int64_t extent : o.shape) line += " " + std::to_string(extent);
    if (o.statistics != nullptr) {
      line += " sum_abs " + std::to_string(o.statistics->sum_abs);
    }
    for (const SavedReduction& saved : o.reductions) {
      line +=
          " " + reduction_op_name(saved.op) + " " + std::to_string(saved.value);
    }
    const auto view = o.values->load();
    if (view) {
      float first;
      std::memcpy(&first, view->data, sizeof(first));
      line += " first " + std::to_string(first);
    } else {
      EXPECT_EQ(view.error().code, Error::Code::not_found);
    }
    lines.push_back(line);
  }
};

class FeedTest : public TrialTest {
 protected:
  FeedTest() { run_.put_collections("worker_0", 1, {{"losses", {"l"}, {}}}); }

  void put_summary(Step step) {
    run_.put_step(
        {{step, Mode::train, step}, "worker_0", {{"w", {3, -1}, true}}});
  }

  KeptObservations sink_;
};

TEST_F(FeedTest, GivesStatisticsAndValuesOfOurRuns) {
  put_summary(4);
  EXPECT_EQ(*open()->feed(sink_, 7, 0), 5);
  EXPECT_THAT(sink_.lines,
              ElementsAre("run 7 has 1 collections", "step 4",
                          "w of worker_0 2 sum_abs 4.000000 first 3.000000"));
}

TEST_F(FeedTest, GivesSavedReductionsOfRunsWithoutStatistics) {
  run_.put_step({{0, Mode::train, 0},
                 "worker_0",
                 {{"w", {}, false, false, {{{Reduction::mean, true}, 2.5f}}},
                  {"v", {1, 2, 3}}}});
  EXPECT_EQ(*open()->feed(sink_, 0, 0), 1);
  EXPECT_THAT(sink_.lines, ElementsAre("run 0 has 1 collections", "step 0",
                                       "w of worker_0 abs_mean 2.500000",
                                       "v of worker_0 3 first 1.000000"));
}

TEST_F(FeedTest, StopsBeforeTheEndThatItIsGiven) {
  for (const Step step : {0, 1, 4}) put(step);
  const auto trial = open();
  EXPECT_EQ(*trial->feed(sink_, 0, 0, {}, 1), 1);
  EXPECT_EQ(*trial->feed(sink_, 0, 1, {}, 4), 2);
  EXPECT_EQ(*trial->feed(sink_, 0, 2, {}, 4), 2);
  EXPECT_EQ(*trial->feed(sink_, 0, 2, {}, 5), 5);
  EXPECT_THAT(sink_.lines,
              ElementsAre("run 0 has 1 collections", "step 0",
                          "w of worker_0 2 first 0.000000", "step 1",
                          "w of worker_0 2 first 1.000000", "step 4",
                          "w of worker_0 2 first 4.000000"));
}

TEST_F(FeedTest, GoesOnWhereItStopped) {
  const auto trial = open();
  EXPECT_EQ(*trial->feed(sink_, 0, 0), 0);
  EXPECT_THAT(sink_.lines, IsEmpty());
  put(0);
  put(1);
  EXPECT_EQ(*trial->feed(sink_, 0, 0), 2);
  put(2);
  EXPECT_EQ(*trial->feed(sink_, 0, 2), 3);
  EXPECT_EQ(*trial->feed(sink_, 0, 3), 3);
  EXPECT_THAT(sink_.lines,
              ElementsAre("run 0 has 1 collections", "step 0",
                          "w of worker_0 2 first 0.000000", "step 1",
                          "w of worker_0 2 first 1.000000", "step 2",
                          "w of worker_0 2 first 2.000000"));
}

TEST_F(FeedTest, TellsCollectionsAgainWhenTheyHaveChanged) {
  const auto trial = open();
  put_summary(0);
  EXPECT_EQ(*trial->feed(sink_, 0, 0), 1);
  run_.put_collections("worker_0", 1,
                       {{"losses", {"l"}, {}}, {"more", {}, {}}});
  put_summary(1);
  EXPECT_EQ(*trial->feed(sink_, 0, 1), 2);
  EXPECT_EQ(sink_.lines[3], "run 0 has 2 collections");
}

TEST_F(FeedTest, TellsCollectionsToEachSink) {
  put_summary(0);
  const auto trial = open();
  KeptObservations other;
  EXPECT_TRUE(trial->feed(sink_, 0, 0).ok());
  EXPECT_TRUE(trial->feed(other, 0, 0).ok());
  EXPECT_EQ(other.lines, sink_.lines);
}

TEST_F(FeedTest, LeavesOutTensorsThatNobodyWants) {
  run_.put_step(
      {{0, Mode::train, 0}, "worker_0", {{"w", {1}}, {"v", {2}}, {"u", {3}}}});
  const auto trial = open();
  EXPECT_TRUE(
      trial->feed(sink_, 0, 0, [](std::string_view n) { return n == "v"; })
          .ok());
  EXPECT_THAT(sink_.lines, ElementsAre("run 0 has 1 collections", "step 0",
                                       "v of worker_0 1 first 2.000000"));
}

TEST_F(FeedTest, WaitsForEveryWorkerOfAStep) {
  run_.put_collections("worker_1", 2);
  put(0, 1);
  const auto trial = open();
  EXPECT_EQ(*trial->feed(sink_, 0, 0), 0);
  put(0, 0);
  EXPECT_EQ(*trial->feed(sink_, 0, 0), 1);
  EXPECT_EQ(sink_.lines.size(), 4u);
}

TEST_F(FeedTest, TellsReductionsItCouldNotRead) {
  run_.put_step({{0, Mode::train, 0},
                 "worker_0",
                 {{"w", {}, false, false, {{{Reduction::mean, true}, 2.5f}}}}});
  run_.put(event_file_key(0, "worker_0"), "cut");
  const auto trial = open();
  EXPECT_TRUE(trial->feed(sink_, 0, 0).ok());
  EXPECT_THAT(sink_.lines, ElementsAre("run 0 has 1 collections", "step 0",
                                       "w of worker_0"));
  ASSERT_EQ(trial->damage().size(), 1u);
  EXPECT_EQ(trial->damage()[0].key, event_file_key(0, "worker_0"));
}

}  // namespace
}  // namespace smdebug
