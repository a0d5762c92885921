#include "capture/leap_watch.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gmock/gmock.h>

#include "capture/session_fixture_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class LeapWatchTest : public SessionFixture {
 protected:
  LeapWatchTest() {
    config_.steps_after_leap = 3;
    every_step(20);
  }

  // Trains with one loss per step, and returns the steps that were saved.
  std::vector<Step> saved_with(const std::vector<double>& losses,
                               Mode mode = Mode::train) {
    auto session = open();
    session->set_mode(mode);
    const ScalarSlot loss = session->scalar("loss_output_0");
    std::vector<Step> saved;
    for (const double value : losses) {
      if (session->begin_step()) saved.push_back(session->step().mode_step);
      loss.note(value);
    }
    session->end_step();
    EXPECT_TRUE(session->close().ok());
    return saved;
  }

  // Trains with a gradient of that norm in each step, saved every second one.
  std::vector<Step> saved_with_norms(const std::vector<float>& norms) {
    every_step(2);
    auto session = open();
    std::vector<Step> saved;
    for (const float norm : norms) {
      if (session->begin_step()) saved.push_back(session->step().global);
      put(*session, "gradient/Net_fc.weight", {0.6f * norm, 0.8f * norm});
    }
    session->end_step();
    EXPECT_TRUE(session->close().ok());
    return saved;
  }
};

std::vector<double> noisy(int count, double mean, double share) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(mean, share * mean);
  std::vector<double> losses;
  for (int i = 0; i < count; ++i) losses.push_back(noise(random));
  return losses;
}

TEST_F(LeapWatchTest, ThreeStepsAreSavedAfterTheLeapOfALoss) {
  auto losses = noisy(40, 1.0, 0.05);
  losses[25] = 3.0;
  EXPECT_THAT(saved_with(losses), ElementsAre(0, 20, 26, 27, 28));
}

TEST_F(LeapWatchTest, AStepThatIsDueAnywayCounts) {
  auto losses = noisy(40, 1.0, 0.05);
  losses[18] = 3.0;
  EXPECT_THAT(saved_with(losses), ElementsAre(0, 19, 20, 21));
}

TEST_F(LeapWatchTest, NoStepIsSavedAfterTheNoiseOfBatches) {
  EXPECT_THAT(saved_with(noisy(100, 2.3, 0.3)), ElementsAre(0, 20, 40, 60, 80));
}

TEST_F(LeapWatchTest, ALossThatFallsBelowZeroDoesNotLeap) {
  std::vector<double> losses;
  for (int step = 0; step < 60; ++step) losses.push_back(1.0 - 0.1 * step);
  EXPECT_THAT(saved_with(losses), ElementsAre(0, 20, 40));
}

TEST_F(LeapWatchTest, ALossThatIsNotFiniteLeapsOnce) {
  auto losses = noisy(60, 1.0, 0.05);
  for (int step = 25; step < 60; ++step) losses[step] = kNan;
  EXPECT_THAT(saved_with(losses), ElementsAre(0, 20, 26, 27, 28, 40));
}

TEST_F(LeapWatchTest, ALossThatLeapsAllTheTimeSavesThreeStepsOfThirty) {
  every_step(1000);
  auto losses = noisy(100, 1.0, 0.05);
  for (int step = 10; step < 100; step += 4) losses[step] = std::exp(step);
  EXPECT_THAT(saved_with(losses),
              ElementsAre(0, 11, 12, 13, 43, 44, 45, 75, 76, 77));
}

TEST_F(LeapWatchTest, TheLossOfAnEvaluationDoesNotCount) {
  auto losses = noisy(40, 1.0, 0.05);
  losses[25] = 30.0;
  EXPECT_THAT(saved_with(losses, Mode::eval), ElementsAre(0, 20));
}

TEST_F(LeapWatchTest, NoStepIsSavedUnlessTheConfigurationAsksForIt) {
  config_.steps_after_leap = 0;
  auto losses = noisy(40, 1.0, 0.05);
  losses[25] = 3.0;
  EXPECT_THAT(saved_with(losses), ElementsAre(0, 20));
}

TEST_F(LeapWatchTest, StepsAreSavedAfterTheLeapOfAGradient) {
  std::vector<float> norms(26, 1.0f);
  norms[14] = 9.0f;
  EXPECT_THAT(saved_with_norms(norms), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14,
                                                   15, 16, 17, 18, 20, 22, 24));
}

TEST_F(LeapWatchTest, StepsAreSavedAfterAGradientThatIsNotFinite) {
  std::vector<float> norms(26, 1.0f);
  norms[14] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(saved_with_norms(norms), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14,
                                                   15, 16, 17, 18, 20, 22, 24));
}

TEST_F(LeapWatchTest, SeveralWorkersSaveTheSameSteps) {
  config_.include_workers = IncludeWorkers::all;
  auto session = open();
  session->set_worker(0, 2);
  const ScalarSlot loss = session->scalar("loss_output_0");
  std::vector<Step> saved;
  for (int step = 0; step < 40; ++step) {
    if (session->begin_step()) saved.push_back(session->step().global);
    loss.note(step == 25 ? 30.0 : 1.0);
  }
  session->end_step();
  EXPECT_THAT(saved, ElementsAre(0, 20));
}

}  // namespace
}  // namespace smdebug
