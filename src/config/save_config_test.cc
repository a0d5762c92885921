#include "smdebug/config/save_config.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Step> due_steps(const SaveConfigMode& config, Step end) {
  std::vector<Step> steps;
  for (Step step = -1; step < end; ++step) {
    if (config.is_due(step)) steps.push_back(step);
  }
  return steps;
}

TEST(SaveConfigMode, SavesEvery500thStepUnlessTold) {
  EXPECT_THAT(due_steps({}, 1501), ElementsAre(0, 500, 1000, 1500));
}

TEST(SaveConfigMode, SavesListedStepsBesideTheInterval) {
  EXPECT_THAT(due_steps({.save_steps = {3, 7}}, 501),
              ElementsAre(0, 3, 7, 500));
}

TEST(SaveConfigMode, SavesListedStepsOutsideTheRange) {
  EXPECT_THAT(due_steps({.save_interval = 4,
                         .start_step = 3,
                         .end_step = 9,
                         .save_steps = {1, 10}},
                        20),
              ElementsAre(1, 4, 8, 10));
}

TEST(SaveConfigMode, ExcludesTheEndStep) {
  EXPECT_THAT(due_steps({.save_interval = 2, .end_step = 4}, 10),
              ElementsAre(0, 2));
}

TEST(SaveConfigMode, SavesOnlyListedStepsWhenTheEndIsZero) {
  EXPECT_THAT(
      due_steps({.save_interval = 1, .end_step = 0, .save_steps = {5}}, 10),
      ElementsAre(5));
}

TEST(SaveConfigMode, CountsTheIntervalFromZeroNotFromTheStart) {
  EXPECT_THAT(due_steps({.save_interval = 3, .start_step = 4}, 10),
              ElementsAre(6, 9));
}

TEST(SaveConfigMode, RefusesAnIntervalThatIsNotPositive) {
  EXPECT_THAT(SaveConfigMode{.save_interval = 0}.check(),
              FailsWith(Error::Code::invalid_config,
                        HasSubstr("save_interval is 0 and should be at least "
                                  "1")));
  EXPECT_THAT(SaveConfigMode{.save_interval = -5}.check(),
              FailsWith(Error::Code::invalid_config));
  EXPECT_FALSE(SaveConfigMode{.save_interval = 0}.is_due(0));
}

TEST(SaveConfig, AppliesOneConfigurationToEveryMode) {
  const SaveConfig config(SaveConfigMode{.save_interval = 2});
  for (Mode mode : kModes) {
    EXPECT_TRUE(config.is_due(mode, 4)) << mode_name(mode);
    EXPECT_FALSE(config.is_due(mode, 3)) << mode_name(mode);
  }
}

TEST(SaveConfig, IsNeverDueInAModeWithoutEntry) {
  SaveConfig config;
  config.set_mode(Mode::train, SaveConfigMode{.save_interval = 1});
  EXPECT_TRUE(config.is_due(Mode::train, 1));
  EXPECT_FALSE(config.is_due(Mode::eval, 0));
}

TEST(SaveConfig, TakesMissingModesFromTheFallbackAndThenTheDefaults) {
  SaveConfig config;
  config.set_mode(Mode::train, SaveConfigMode{.save_interval = 2});
  SaveConfig fallback;
  fallback.set_mode(Mode::train, SaveConfigMode{.save_interval = 3});
  fallback.set_mode(Mode::eval, SaveConfigMode{.save_interval = 5});
  const SaveConfig merged = config.merged_with(fallback);
  EXPECT_EQ(merged.mode(Mode::train)->save_interval, 2);
  EXPECT_EQ(merged.mode(Mode::eval)->save_interval, 5);
  EXPECT_EQ(merged.mode(Mode::predict), SaveConfigMode{});
  EXPECT_EQ(merged.mode(Mode::global), SaveConfigMode{});
}

TEST(SaveConfig, NamesTheModeOfABadInterval) {
  SaveConfig config;
  config.set_mode(Mode::eval, SaveConfigMode{.save_interval = 0});
  EXPECT_THAT(config.check(),
              FailsWith(Error::Code::invalid_config, HasSubstr("EVAL: ")));
}

}  // namespace
}  // namespace smdebug
