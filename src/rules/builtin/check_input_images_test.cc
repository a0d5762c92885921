#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kImages = "hybridsequential0_input_0";

// Two images of two channels of two elements.
StepBuilder images(Step step, const std::vector<float>& values) {
  StepBuilder observed(step);
  observed.with_values(kImages, values, {2, 2, 1, 2});
  return observed;
}

TEST(CheckInputImages, FiresWhereTheMeanOfAChannelIsFarFromZero) {
  RuleHarness rule("CheckInputImages",
                   {{"threshold_samples", "2"}, {"threshold_mean", "0.5"}});
  // Channel 0: (1 - 1 + 0 + 0) / 4; channel 1: (-1 - 2 + 0 - 1) / 4.
  EXPECT_TRUE(rule.fires_at(images(7, {1, -1, -1, -2, 0, 0, 0, -1})));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].quantity, "mean of channel 1");
  EXPECT_EQ(rule.verdict().evidence[0].value, -1);
  EXPECT_EQ(rule.verdict().evidence[0].relation, "<");
  EXPECT_EQ(rule.verdict().evidence[0].threshold, -0.5);
  EXPECT_EQ(rule.verdict().message,
            "hybridsequential0_input_0: the mean of channel 1 of 2 images from "
            "step 7 (TRAIN step 7) up to step 7 (TRAIN step 7) is -1, further "
            "from 0 than 0.5; the channels have 0, -1");
}

TEST(CheckInputImages, LetsAMeanPassThatIsAtTheThreshold) {
  RuleHarness rule("CheckInputImages",
                   {{"threshold_samples", "2"}, {"threshold_mean", "1"}});
  EXPECT_FALSE(rule.fires_at(images(0, {1, -1, -1, -2, 0, 0, 0, -1})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(CheckInputImages, AcceptsImagesWithinTheAcceptedMaximum) {
  const std::map<std::string, std::string> settings = {
      {"threshold_samples", "2"},
      {"threshold_mean", "0.2"},
      {"accepted_maximum", "1"}};
  const std::vector<float> bright = {1, 0.5, 1, 0.75, 1, 1, 0, 0.5};
  RuleHarness accepting("CheckInputImages", settings);
  EXPECT_FALSE(accepting.fires_at(images(0, bright)));
  EXPECT_EQ(accepting.finish().status, RuleStatus::no_issues_found);

  for (const float beyond : {1.25F, -1.25F}) {
    std::vector<float> values = bright;
    values[6] = beyond;
    RuleHarness rule("CheckInputImages", settings);
    EXPECT_TRUE(rule.fires_at(images(0, values))) << beyond;
  }
  EXPECT_TRUE(RuleHarness("CheckInputImages", {{"threshold_samples", "2"}})
                  .fires_at(images(0, bright)))
      << "by default none is accepted";
}

TEST(CheckInputImages, AcceptsNoImagesOfWhichOnlyTheMeanWasSaved) {
  RuleHarness rule("CheckInputImages",
                   {{"threshold_samples", "2"}, {"accepted_maximum", "1"}});
  EXPECT_TRUE(
      rule.fires_at(StepBuilder(0)
                        .with_reductions(kImages, {{{Reduction::mean}, 0.5}})
                        .of_shape({2, 1, 1, 2})));
}

TEST(CheckInputImages, TakesTheMeanOverAllImagesSoFar) {
  RuleHarness rule("CheckInputImages",
                   {{"threshold_samples", "4"}, {"threshold_mean", "0.9"}});
  EXPECT_FALSE(rule.fires_at(images(0, {0, 0, 0, 0, 0, 0, 0, 0})));
  // Alone, these would have a mean of 1.
  EXPECT_FALSE(rule.fires_at(images(1, {1, 1, 1, 1, 1, 1, 1, 1})));
  // Channel 0: (0 + 1 + 5) / 3; channel 1: (0 + 1 + 0) / 3.
  EXPECT_TRUE(rule.fires_at(images(2, {5, 5, 0, 0, 5, 5, 0, 0})));
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].value, 2);
  EXPECT_THAT(rule.verdict().message, HasSubstr("of 6 images from step 0"));
}

TEST(CheckInputImages, TakesTheMeansOfTrainingAndEvaluationApart) {
  RuleHarness rule("CheckInputImages",
                   {{"threshold_samples", "4"}, {"threshold_mean", "0.9"}});
  EXPECT_FALSE(rule.fires_at(images(0, {2, 2, 2, 2, 2, 2, 2, 2})));
  StepBuilder evaluation(StepId{1, Mode::eval, 0});
  evaluation.with_values(kImages, {0, 0, 0, 0, 0, 0, 0, 0}, {2, 2, 1, 2});
  EXPECT_FALSE(rule.fires_at(evaluation));
  EXPECT_TRUE(rule.fires_at(images(2, {2, 2, 2, 2, 2, 2, 2, 2})));
  EXPECT_EQ(rule.verdict().evidence[0].value, 2);
}

TEST(CheckInputImages, JudgesNothingBeforeItHasSeenItsSamples) {
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "3"}});
  EXPECT_FALSE(rule.fires_at(images(0, {9, 9, 9, 9, 9, 9, 9, 9})));
  EXPECT_TRUE(rule.fires_at(images(1, {9, 9, 9, 9, 9, 9, 9, 9})));

  RuleHarness short_run("CheckInputImages");
  short_run.fires_at(images(0, {0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(short_run.finish().status, RuleStatus::error);
  EXPECT_THAT(short_run.verdict().message,
              AllOf(HasSubstr("2 images were seen"), HasSubstr("500")));
}

TEST(CheckInputImages, CountsTheChannelsInTheDimensionThatItIsTold) {
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"},
                                        {"threshold_mean", "0.5"},
                                        {"channel", "3"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0).with_values(kImages, {0, 1, 0, 3}, {1, 2, 1, 2})));
  EXPECT_EQ(rule.verdict().evidence[0].quantity, "mean of channel 1");
  EXPECT_EQ(rule.verdict().evidence[0].value, 2);
}

TEST(CheckInputImages, CountsTheChannelsOfKerasLastUnlessFewerStandFirst) {
  const auto quantity_of = [](const char* name,
                              const std::vector<std::int64_t>& shape) {
    RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
    // Every other element is 8: one of two channels that stand last.
    EXPECT_TRUE(rule.fires_at(StepBuilder(0).with_values(
        name, {0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8}, shape)));
    return rule.verdict().evidence[0].quantity +
           (rule.verdict().evidence.size() == 1 ? ", alone" : "");
  };
  EXPECT_EQ(quantity_of("inputs", {1, 3, 2, 2}), "mean of channel 1, alone");
  EXPECT_EQ(quantity_of("inputs_1", {1, 3, 2, 2}), "mean of channel 1, alone");
  EXPECT_EQ(quantity_of("inputs", {1, 2, 3, 2}), "mean of channel 0");
  EXPECT_EQ(quantity_of("Net_input_0", {1, 3, 2, 2}), "mean of channel 0");
}

TEST(CheckInputImages, LeavesOutNanAndInfinities) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "2"}});
  EXPECT_FALSE(rule.fires_at(images(0, {nan, 0.1f, 0, 0, inf, -0.1f, 0, 0})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(CheckInputImages, TakesTheInputOfTheOutermostModuleByDefault) {
  for (const char* name : {"Net_input_0", "inputs", "inputs_1"}) {
    RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
    EXPECT_TRUE(
        rule.fires_at(StepBuilder(0).with_values(name, {1}, {1, 1, 1, 1})))
        << name;
  }
  for (const char* name : {"CrossEntropyLoss_input_0", "layer1.0_input_0",
                           "conv2_input_0", "3_input_0"}) {
    RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
    EXPECT_FALSE(
        rule.fires_at(StepBuilder(0).with_values(name, {1}, {1, 1, 1, 1})))
        << name;
  }
  RuleHarness own("CheckInputImages",
                  {{"threshold_samples", "1"}, {"regex", "^pixels$"}});
  EXPECT_FALSE(own.fires_at(
      StepBuilder(0).with_values("Net_input_0", {1}, {1, 1, 1, 1})));
}

TEST(CheckInputImages, JudgesTheMeanOfAllChannelsWhereElementsWereNotKept) {
  TensorStatistics statistics;
  statistics.count = 12;
  statistics.nan = 4;
  statistics.mean = 0.5;
  statistics.max = 1;
  const std::vector<std::int64_t> shape = {2, 3, 1, 2};
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "2"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0).with_statistics(kImages, statistics).of_shape(shape)));
  EXPECT_EQ(rule.verdict().evidence[0].quantity, "mean of all elements");
  EXPECT_EQ(rule.verdict().evidence[0].value, 0.5);

  RuleHarness reduced("CheckInputImages", {{"threshold_samples", "2"}});
  EXPECT_TRUE(reduced.fires_at(
      StepBuilder(0)
          .with_reductions(kImages, {{{Reduction::mean}, -0.25}})
          .of_shape(shape)));
  EXPECT_EQ(reduced.verdict().evidence[0].value, -0.25);
}

TEST(CheckInputImages, CountsStepsWithElementsAmongStepsWithoutThem) {
  TensorStatistics statistics;
  statistics.count = 8;
  const std::vector<std::int64_t> shape = {2, 2, 1, 2};
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "4"}});
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(0).with_statistics(kImages, statistics).of_shape(shape)));
  EXPECT_FALSE(rule.fires_at(images(1, {1, 1, 0, 0, 1, 1, 0, 0})));
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(2).with_statistics(kImages, statistics).of_shape(shape)));
  EXPECT_TRUE(rule.fires_at(images(3, {1, 1, 0, 0, 1, 1, 0, 0})));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("channel 0 of 4 images from step 1"));
}

TEST(CheckInputImages, SaysThatATensorHoldsNoImages) {
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_values(kImages, {1, 2}, {1, 2})));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("of shape (1, 2) contains no images"));
}

TEST(CheckInputImages, DoesNotTakeABatchOfSequencesForImages) {
  const auto sequences = [] {
    return StepBuilder(0).with_values("Net_input_0", {1, 0, 0, 1}, {1, 2, 2});
  };
  for (const char* receiver : {"LSTM", "Conv1d", ""}) {
    RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
    RunFacts facts;
    facts.inputs = {{.tensor = "Net_input_0", .received_by = receiver}};
    rule.knows(facts, "worker_0");
    EXPECT_FALSE(rule.fires_at(sequences())) << receiver;
    EXPECT_THAT(rule.finish().message, HasSubstr("may contain sequences"));
  }
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
  RunFacts facts;
  facts.inputs = {{.tensor = "Net_input_0", .received_by = "Conv2d"}};
  rule.knows(facts, "worker_0");
  EXPECT_TRUE(rule.fires_at(sequences()));
}

TEST(CheckInputImages, TakesThreeDimensionsThatTheUserSelectsForImages) {
  RuleHarness rule("CheckInputImages",
                   {{"threshold_samples", "1"}, {"regex", "pixels"}});
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(0).with_values("pixels", {1, 0, 0, 1}, {1, 2, 2})));
  EXPECT_EQ(rule.verdict().evidence[0].quantity, "mean of all elements");
  EXPECT_EQ(rule.verdict().evidence[0].value, 0.5);
}

TEST(CheckInputImages, PassesOverTensorsWithoutElements) {
  RuleHarness rule("CheckInputImages", {{"threshold_samples", "1"}});
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(0).with_values(kImages, {}, {0, 3, 2, 2})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
}

TEST(CheckInputImages, NamesTheNearestWhereNothingMatches) {
  RuleHarness rule("CheckInputImages");
  rule.fires_at(StepBuilder(0).with_nothing("hybridsequential1_input_0"));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message, HasSubstr("hybridsequential1_input_0"));
}

}  // namespace
}  // namespace smdebug
