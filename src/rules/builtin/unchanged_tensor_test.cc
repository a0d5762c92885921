#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RuleHarness unchanged(std::map<std::string, std::string> given = {}) {
  given["tensor_regex"] = ".";
  return RuleHarness("UnchangedTensor", given);
}

StepBuilder tensor(Step step, std::vector<float> values) {
  const auto size = std::int64_t(values.size());
  StepBuilder observed(step);
  observed.with_values("Net_fc.weight", std::move(values), {size});
  return observed;
}

TEST(UnchangedTensor, FiresAtTheThirdStepThatIsTheSame) {
  RuleHarness rule = unchanged();
  EXPECT_FALSE(rule.fires_at(tensor(0, {1, 2})));
  EXPECT_FALSE(rule.fires_at(tensor(10, {1, 2})));
  EXPECT_TRUE(rule.fires_at(tensor(20, {1, 2})));
  EXPECT_EQ(rule.verdict().message,
            "Net_fc.weight: unchanged in layer Net_fc over 3 saved steps: the "
            "largest change since step 0 is 0, within 1e-05, at step 20 (TRAIN "
            "step 20)");
}

TEST(UnchangedTensor, DoesNotFireIfOneOfTheStepsDiffers) {
  RuleHarness rule = unchanged();
  EXPECT_FALSE(rule.fires_at(tensor(0, {1, 2})));
  EXPECT_FALSE(rule.fires_at(tensor(1, {1, 2.1f})));
  EXPECT_FALSE(rule.fires_at(tensor(2, {1, 2})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

// num_steps 2 with a gap compares the last two saved.
TEST(UnchangedTensor, ComparesTheLastStepsThatWereSaved) {
  RuleHarness rule = unchanged({{"num_steps", "2"}});
  EXPECT_FALSE(rule.fires_at(tensor(0, {5})));
  EXPECT_FALSE(rule.fires_at(tensor(1, {6})));
  EXPECT_TRUE(rule.fires_at(tensor(700, {6})));
  EXPECT_THAT(rule.verdict().evidence.front().quantity,
              HasSubstr("since step 1"));
}

TEST(UnchangedTensor, SaysThatTooFewStepsWereSaved) {
  RuleHarness rule = unchanged({{"num_steps", "4"}});
  for (Step step = 0; step < 3; ++step) rule.fires_at(tensor(step, {1}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("num_steps=4")));
}

// A change of 0.01 at 100: numpy.allclose([100.01], [100.0]) is decided by
// atol + rtol * 100.
TEST(UnchangedTensor, TakesTolerances) {
  const auto fires = [](std::map<std::string, std::string> given) {
    given["num_steps"] = "2";
    RuleHarness rule = unchanged(given);
    rule.fires_at(tensor(0, {100.0f}));
    return rule.fires_at(tensor(1, {100.01f}));
  };
  EXPECT_FALSE(fires({}));
  EXPECT_TRUE(fires({{"rtol", "0.000101"}}));
  EXPECT_FALSE(fires({{"rtol", "0.000099"}}));
  EXPECT_TRUE(fires({{"rtol", "0"}, {"atol", "0.0101"}}));
  EXPECT_FALSE(fires({{"rtol", "0"}, {"atol", "0.0099"}}));
}

TEST(UnchangedTensor, ComparesNanAsItIsTold) {
  for (const bool equal_nan : {false, true}) {
    RuleHarness rule = unchanged(
        {{"num_steps", "2"}, {"equal_nan", equal_nan ? "True" : "False"}});
    rule.fires_at(tensor(0, {1, kNan}));
    EXPECT_EQ(rule.fires_at(tensor(1, {1, kNan})), equal_nan);
  }
}

TEST(UnchangedTensor, TakesANewShapeForAChangeAndSkipsEmptyTensors) {
  RuleHarness rule = unchanged({{"num_steps", "2"}});
  EXPECT_FALSE(rule.fires_at(tensor(0, {1, 1})));
  EXPECT_FALSE(rule.fires_at(tensor(1, {1, 1, 1})));
  EXPECT_EQ(rule.verdict().observations_judged, 1u);
  RuleHarness empty = unchanged({{"num_steps", "2"}});
  for (Step step = 0; step < 3; ++step) {
    EXPECT_FALSE(empty.fires_at(tensor(step, {})));
  }
  EXPECT_EQ(empty.finish().status, RuleStatus::error);
}

TEST(UnchangedTensor, KeepsWorkersApart) {
  RuleHarness rule = unchanged({{"num_steps", "2"}});
  StepBuilder step(0);
  step.with_values("a", {1}, {1}).from_worker("worker_0");
  step.with_values("a", {1}, {1}).from_worker("worker_1");
  EXPECT_FALSE(rule.fires_at(step));
}

TEST(UnchangedTensor, LooksAtStepsThatTrainUnlessToldOtherwise) {
  const auto fires = [](const char* mode, StepId first, StepId second) {
    RuleHarness rule = unchanged({{"num_steps", "2"}, {"mode", mode}});
    StepBuilder one(first), two(second);
    rule.fires_at(one.with_values("a", {1}, {1}));
    return rule.fires_at(two.with_values("a", {1}, {1}));
  };
  const StepId train = {0, Mode::train, 0}, later = {2, Mode::train, 1};
  const StepId eval = {1, Mode::eval, 0}, eval_later = {3, Mode::eval, 1};
  EXPECT_TRUE(fires("", train, later));
  EXPECT_FALSE(fires("", eval, eval_later));
  EXPECT_FALSE(fires("", train, eval));
  EXPECT_TRUE(fires("eval", eval, eval_later));
  EXPECT_TRUE(fires("GLOBAL", train, eval));
}

TEST(UnchangedTensor, TakesEqualStatisticsForEqualTensorsWithoutElements) {
  TensorStatistics some;
  some.count = 10;
  some.mean = some.min = some.max = 0.5;
  some.sum_abs = 5;
  some.sum_squares = 2.5;
  TensorStatistics other = some;
  other.sum_squares += 1e-9;
  RuleHarness rule = unchanged({{"num_steps", "2"}});
  EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_statistics("a", some)));
  EXPECT_FALSE(rule.fires_at(StepBuilder(1).with_statistics("a", other)));
  EXPECT_TRUE(rule.fires_at(StepBuilder(2).with_statistics("a", other)));
  EXPECT_THAT(rule.verdict().message, HasSubstr("of a statistic"));
}

TEST(UnchangedTensor, NeedsASumAmongSavedReductions) {
  const SavedReduction bound = {{Reduction::max}, 1};
  const SavedReduction sum = {{Reduction::l2}, 7};
  RuleHarness bounds = unchanged({{"num_steps", "2"}});
  bounds.fires_at(StepBuilder(0).with_reductions("a", {bound}));
  EXPECT_FALSE(bounds.fires_at(StepBuilder(1).with_reductions("a", {bound})));
  EXPECT_EQ(bounds.finish().status, RuleStatus::error);
  RuleHarness rule = unchanged({{"num_steps", "2"}});
  rule.fires_at(StepBuilder(0).with_reductions("a", {bound, sum}));
  EXPECT_FALSE(rule.fires_at(
      StepBuilder(1).with_reductions("a", {bound, {{Reduction::l2}, 7.5}})));
  EXPECT_FALSE(
      rule.fires_at(StepBuilder(2).with_reductions("a", {bound, sum})));
  EXPECT_TRUE(rule.fires_at(StepBuilder(3).with_reductions("a", {bound, sum})));
}

// A change in one random element among many is always seen, however deep.
// Seeds 0 to 49.
TEST(UnchangedTensor, SeesAChangeOfOneElement) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<float> values(1 + random() % 4000, 1.0f);
    RuleHarness rule = unchanged({{"num_steps", "2"}});
    rule.fires_at(tensor(0, values));
    values[random() % values.size()] += 1e-3f;
    EXPECT_FALSE(rule.fires_at(tensor(1, values))) << "seed " << seed;
    EXPECT_TRUE(rule.fires_at(tensor(2, values))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace smdebug
