// Tests the scalar series of a run on disk, and the order in which rules
// receive them.

#include <cstdio>
#include <random>

#include "format/file_names.h"
#include "format/series_file.h"
#include "read/trial_testing.h"
#include "tests/support/seen_scalars_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ScalarSample sample(Step step, double value) {
  return {{step, Mode::train, step}, value};
}

class SeriesTest : public TrialTest {
 protected:
  SeriesTest() { run_.put_collections("worker_0", 1); }

  // Writes the next file of a worker.
  std::string put_series(std::vector<ScalarSeries> series,
                         const std::string& worker = "worker_0") {
    const SeriesFile file = {worker, std::move(series)};
    const auto [first, last] = steps_of(file);
    std::string key = series_file_key({worker, first, last, files_++});
    run_.put(key, write_series_file(file));
    return key;
  }
  std::string put_losses(std::vector<ScalarSample> samples,
                         const std::string& worker = "worker_0") {
    return put_series({{"loss", std::move(samples)}}, worker);
  }

  std::vector<std::string> fed(Trial& trial, Step first,
                               Step end = std::numeric_limits<Step>::max()) {
    SeenScalars sink(3);
    EXPECT_TRUE(trial.feed(sink, 3, first, {}, end));
    return sink.lines;
  }

  static std::string losses(Trial& trial) {
    const auto series = trial.series("loss");
    if (!series) return series.error().message;
    std::string text;
    for (const WorkerSeries& one : *series)
      text += one.worker + text_of(one.samples) + ";";
    return text;
  }

  std::vector<std::string> damage(Trial& trial) {
    std::vector<std::string> lines;
    for (const Damage& part : trial.damage())
      lines.push_back(part.key + ": " + part.what);
    return lines;
  }

  std::uint64_t files_ = 0;
};

TEST_F(SeriesTest, AreThoseOfEveryWorkerInTheOrderOfTheirSteps) {
  put_losses({sample(3, 7)});
  put_losses({sample(0, 9), sample(1, 8)});
  put_losses({sample(1, 5)}, "worker_1");
  put_series({{"lr", {sample(0, 1)}}});
  auto trial = open();
  EXPECT_THAT(trial->series_names(), ElementsAre("loss", "lr"));
  EXPECT_EQ(losses(*trial), "worker_0 0:9 1:8 3:7;worker_1 1:5;");
}

TEST_F(SeriesTest, HaveTheLastOfTwoValuesForAStep) {
  put_losses({sample(4, 1), sample(5, 2)});
  put_losses({sample(5, 3)});
  auto trial = open();
  EXPECT_EQ(losses(*trial), "worker_0 4:1 5:3;");
}

TEST_F(SeriesTest, OfAnUnknownNameAreAnErrorThatNamesTheNearest) {
  put_losses({sample(0, 1)});
  auto trial = open();
  const auto series = trial->series("lots");
  ASSERT_FALSE(series.ok());
  EXPECT_EQ(series.error().code, Error::Code::not_found);
  EXPECT_THAT(series.error().message, HasSubstr("did you mean 'loss'"));
}

TEST_F(SeriesTest, ReachARuleBeforeTheStepThatIsNotEarlier) {
  put_losses({sample(0, 9), sample(1, 8), sample(10, 7), sample(11, 6)});
  put_losses({sample(10, 5)}, "worker_1");
  for (const Step step : {0, 10, 20}) put(step);
  auto trial = open();
  EXPECT_THAT(fed(*trial, 0),
              ElementsAre("worker_0 loss 0:9", "step 0",
                          "worker_0 loss 1:8 10:7", "worker_1 loss 10:5",
                          "step 10", "worker_0 loss 11:6", "step 20"));
  EXPECT_THAT(fed(*trial, 10, 20),
              ElementsAre("worker_0 loss 10:7", "worker_1 loss 10:5", "step 10",
                          "worker_0 loss 11:6"));
}

TEST_F(SeriesTest, AfterTheLastStepReachARuleOnceAndWhenTheyAreThere) {
  put(0);
  put_losses({sample(0, 9), sample(1, 8)});
  auto trial = open();
  SeenScalars sink(3);
  auto next = trial->feed(sink, 3, 0);
  put_losses({sample(2, 7)});
  next = trial->feed(sink, 3, *next);
  next = trial->feed(sink, 3, *next);
  put_losses({sample(3, 6), sample(4, 5)});
  put(4);
  next = trial->feed(sink, 3, *next);
  EXPECT_THAT(sink.lines, ElementsAre("worker_0 loss 0:9", "step 0",
                                      "worker_0 loss 1:8", "worker_0 loss 2:7",
                                      "worker_0 loss 3:6 4:5", "step 4"));
}

TEST_F(SeriesTest, ThatComeAfterALaterStepAreLateAndNotLost) {
  put(0);
  auto trial = open();
  SeenScalars sink(3);
  auto next = trial->feed(sink, 3, 0);
  put_losses({sample(0, 9), sample(1, 8)});
  put(2);
  ASSERT_TRUE(trial->feed(sink, 3, *next));
  EXPECT_THAT(sink.lines,
              ElementsAre("step 0", "worker_0 loss 0:9 1:8", "step 2"));
}

TEST_F(SeriesTest, ReachEachOfTwoRulesThatTakeTurns) {
  put(0);
  put_losses({sample(0, 9), sample(1, 8)});
  auto trial = open();
  SeenScalars sinks[] = {SeenScalars(3), SeenScalars(3)};
  Step next[2] = {0, 0};
  for (const Step step : {1, 2}) {
    for (int i = 0; i < 2; ++i) next[i] = *trial->feed(sinks[i], 3, next[i]);
    put_losses({sample(step + 1, 7)});
  }
  for (int i = 0; i < 2; ++i) next[i] = *trial->feed(sinks[i], 3, next[i]);
  for (const SeenScalars& sink : sinks) {
    EXPECT_THAT(sink.lines,
                ElementsAre("worker_0 loss 0:9", "step 0", "worker_0 loss 1:8",
                            "worker_0 loss 2:7", "worker_0 loss 3:7"));
  }
}

TEST_F(SeriesTest, OfARunWithoutSavedStepsReachARuleWhenItHasEnded) {
  put_losses({sample(0, 9), sample(1, 8)});
  auto trial = open();
  EXPECT_THAT(fed(*trial, 0), IsEmpty());
  run_.put_end_marker();
  EXPECT_THAT(fed(*trial, 0), ElementsAre("worker_0 loss 0:9 1:8"));
}

TEST_F(SeriesTest, OutsideTheStepsOfTheTrialAreNotLoaded) {
  put_losses({sample(0, 9), sample(1, 8), sample(2, 7)});
  put_losses({sample(3, 6)});
  TrialOptions options = this->options();
  options.first_step = 1;
  options.end_step = 3;
  auto trial = open(options);
  EXPECT_EQ(losses(*trial), "worker_0 1:8 2:7;");
}

TEST_F(SeriesTest, ThatCannotBeReadAreDamage) {
  const std::string sound = put_losses({sample(0, 9)});
  const std::string text =
      write_series_file({"worker_0", {{"l", {sample(4, 1)}}}});
  // Named after other steps, another worker, and torn.
  run_.put(series_file_key({"worker_0", 4, 5, 1}), text);
  run_.put(series_file_key({"worker_1", 4, 4, 2}), text);
  run_.put(series_file_key({"worker_0", 4, 4, 3}),
           text.substr(0, text.size() / 2));
  run_.put("series/notes.txt", "of the user");
  auto trial = open();
  EXPECT_EQ(losses(*trial), "worker_0 0:9;");
  EXPECT_THAT(
      damage(*trial),
      ElementsAre(
          HasSubstr("series/worker_0-000000000004-000000000004-3.json: series"),
          "series/worker_0-000000000004-000000000005-1.json: it contains steps "
          "4 to 4 of worker 'worker_0': it was renamed or exchanged",
          HasSubstr("of worker 'worker_0': it was renamed")));
}

TEST_F(SeriesTest, AreNotNeeded) {
  put(0);
  auto trial = open();
  EXPECT_THAT(trial->series_names(), IsEmpty());
  EXPECT_THAT(fed(*trial, 0), ElementsAre("step 0"));
  EXPECT_THAT(damage(*trial), IsEmpty());
}

// Compares with a plain list of what was written.
TEST_F(SeriesTest, ReachARuleOnceAndInOrderHoweverTheyArrive) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  struct : SeenScalars {
    std::vector<Step> steps;
    Step last_step = -1;
    void on_scalars(std::size_t, std::string_view,
                    std::span<const ScalarSeriesView> series) override {
      for (const ScalarSample& one : series[0].samples)
        steps.push_back(one.step.global);
      EXPECT_TRUE(std::ranges::is_sorted(
          series[0].samples, {},
          [](const ScalarSample& one) { return one.step.global; }));
    }
  } sink;
  auto trial = open();
  Step next = 0, step = 0;
  std::vector<Step> written;
  for (int round = 0; round < 100; ++round) {
    std::vector<ScalarSample> samples;
    for (auto n = 1 + random() % 5; n > 0; --n) {
      written.push_back(step);
      samples.push_back(sample(step++, 1));
    }
    put_losses(std::move(samples));
    if (random() % 3 == 0) put(step++);
    if (random() % 2 == 0) next = *trial->feed(sink, 3, next);
  }
  put(step);
  next = *trial->feed(sink, 3, next);
  EXPECT_EQ(sink.steps, written);
}

}  // namespace
}  // namespace smdebug
