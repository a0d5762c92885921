#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::map<std::string, std::string> with_other(
    std::map<std::string, std::string> given = {}) {
  given.emplace("other_trials", "runs/other");
  return given;
}

StepBuilder tensor(std::size_t run, const std::vector<float>& values,
                   Step step = 3) {
  StepBuilder observed({step, Mode::global, step});
  observed.with_values("w", values, {std::int64_t(values.size())}).in_run(run);
  return observed;
}

// Whether `values` and the other run's fire the rule.
bool fires(const std::vector<float>& values, const std::vector<float>& others,
           std::map<std::string, std::string> given = {}) {
  RuleHarness rule("SimilarAcrossRuns", with_other(std::move(given)));
  EXPECT_FALSE(rule.fires_at(tensor(0, values)));
  return rule.fires_at(tensor(1, others));
}

TEST(SimilarAcrossRuns, FiresWhereElementsDiffer) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  rule.fires_at(tensor(0, {1, 2, 3, 4}));
  EXPECT_TRUE(rule.fires_at(tensor(1, {1, 2.5f, 3, 5})));
  EXPECT_EQ(rule.verdict().message,
            "w differs in 2 of 4 elements, most where 4 is 5 there, in run "
            "'runs/other', at step 3 (rtol 1e-05, atol 1e-08)");
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].value, 2);
}

TEST(SimilarAcrossRuns, LetsEqualTensorsPass) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  rule.fires_at(tensor(0, {1, kInf, -kInf, kNan}));
  EXPECT_FALSE(rule.fires_at(tensor(1, {1, kInf, -kInf, kNan})));
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(SimilarAcrossRuns, HasTheTolerancesThatItIsTold) {
  EXPECT_FALSE(fires({110}, {100}, {{"rtol", "0.1"}, {"atol", "0"}}));
  EXPECT_TRUE(fires({111}, {100}, {{"rtol", "0.1"}, {"atol", "0"}}));
  EXPECT_FALSE(fires({2}, {0}, {{"rtol", "0"}, {"atol", "2"}}));
  EXPECT_TRUE(fires({2}, {0}, {{"rtol", "0"}, {"atol", "1.9"}}));
  EXPECT_TRUE(fires({kNan}, {kNan}, {{"equal_nan", "false"}}));
  EXPECT_TRUE(fires({kNan}, {1}));
  EXPECT_TRUE(fires({kInf}, {-kInf}));
}

TEST(SimilarAcrossRuns, TakesAnotherShapeForADifference) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  rule.fires_at(tensor(0, {1, 2}));
  EXPECT_TRUE(rule.fires_at(tensor(1, {1, 2, 3})));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("w has shape (2) and (3) there"));
}

TEST(SimilarAcrossRuns, ComparesOnlyEqualStepsAndNames) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  rule.fires_at(tensor(0, {1}, 3));
  EXPECT_FALSE(rule.fires_at(tensor(1, {9}, 2)));
  EXPECT_FALSE(rule.fires_at(tensor(1, {9}, 4)));
  StepBuilder renamed({3, Mode::global, 3});
  renamed.with_values("v", {9}, {1}).in_run(1);
  EXPECT_FALSE(rule.fires_at(renamed));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
}

TEST(SimilarAcrossRuns, NeverSaysNoIssueWhereNothingWasInBothRuns) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  rule.fires_at(tensor(0, {1}));
  EXPECT_EQ(rule.finish().status, RuleStatus::error);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("nothing to judge"), HasSubstr("runs/other")));
}

TEST(SimilarAcrossRuns, JudgesOnlyWhatItsSelectorTakes) {
  EXPECT_FALSE(fires({1}, {2}, {{"tensor_regex", "^v$"}}));
  EXPECT_FALSE(fires({1}, {2}, {{"collection_names", "losses"}}));
  EXPECT_TRUE(fires({1}, {2}, {{"tensor_regex", "^w$"}}));
}

TEST(SimilarAcrossRuns, ComparesStatisticsWhereElementsWereNotKept) {
  TensorStatistics statistics;
  statistics.count = 4;
  statistics.min = -1;
  statistics.max = 1;
  const auto compare = [&](const TensorStatistics& other) {
    RuleHarness rule("SimilarAcrossRuns", with_other());
    rule.fires_at(StepBuilder(0).with_statistics("w", statistics));
    const bool fired =
        rule.fires_at(StepBuilder(0).with_statistics("w", other).in_run(1));
    return fired ? rule.verdict().message : std::string();
  };
  EXPECT_EQ(compare(statistics), "");
  TensorStatistics other = statistics;
  other.mean = 1e-6;  // the tolerance of an element of 1 is 1e-5
  EXPECT_EQ(compare(other), "");
  other.mean = 0.25;
  EXPECT_THAT(compare(other), HasSubstr("w has mean 0 and 0.25 there"));
  other = statistics;
  other.nan = 1;
  EXPECT_THAT(compare(other), HasSubstr("number of NaN 0 and 1"));
}

TEST(SimilarAcrossRuns, ComparesEqualReductionsWhereThereIsNothingElse) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  const auto with = [](std::size_t run, double mean, double max) {
    StepBuilder step(0);
    step.with_reductions("w",
                         {{{Reduction::mean}, mean},
                          {{run == 0 ? Reduction::max : Reduction::min}, max}})
        .in_run(run);
    return step;
  };
  rule.fires_at(with(0, 1, 5));
  EXPECT_FALSE(rule.fires_at(with(1, 1, -5)));
  EXPECT_TRUE(rule.fires_at(with(1, 2, 5)));
  EXPECT_THAT(rule.verdict().message, HasSubstr("has mean 1 and 2 there"));
}

TEST(SimilarAcrossRuns, ListsTheTensorFirstThatDiffersMost) {
  RuleHarness rule("SimilarAcrossRuns", with_other());
  const auto step = [](std::size_t run, float value) {
    StepBuilder observed(0);
    observed.with_values("a", {value, 0, 0}, {3})
        .with_values("b", {value, value, 0}, {3})
        .in_run(run);
    return observed;
  };
  rule.fires_at(step(0, 1));
  EXPECT_TRUE(rule.fires_at(step(1, 2)));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "b");
  EXPECT_THAT(rule.verdict().message, HasSubstr("2 tensors of this step"));
}

TEST(SimilarAcrossRuns, PassesOverTensorsWithoutElements) {
  EXPECT_FALSE(fires({}, {}));
}

TEST(SimilarAcrossRuns, NeedsAnotherRun) {
  const auto rule = make_builtin_rule("SimilarAcrossRuns", {});
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
  EXPECT_THAT(rule.error().message, HasSubstr("'other_trials'"));
}

TEST(SimilarAcrossRuns, TakesOtherRunsAsTheCloudSpellsThem) {
  const auto rule =
      make_builtin_rule("SimilarAcrossRuns", {{"other_trials", "a"},
                                              {"other_trial", "b"},
                                              {"other_trial_0", "c"},
                                              {"other_trial_1", "d"}});
  ASSERT_TRUE(rule.ok());
  EXPECT_THAT((*rule)->needs().other_runs, ElementsAre("b", "c", "d", "a"));
  EXPECT_FALSE(
      make_builtin_rule("SimilarAcrossRuns", {{"other_trial_x", "a"}}).ok());
  EXPECT_FALSE(make_builtin_rule("TreeDepth", {{"other_trial_0", "a"}}).ok());
}

// Random tensors about the tolerance, compared by numpy's formula in a plain
// loop. The seed is printed.
TEST(SimilarAcrossRuns, AgreesWithAPlainLoop) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  int fired = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<float> values(1500), others(1500);
    bool differ = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      others[i] = normal(random);
      values[i] = others[i] * (1 + 3.2e-4f * normal(random));
      differ |= std::abs(double(values[i]) - double(others[i])) >
                1e-6 + 1e-3 * std::abs(double(others[i]));
    }
    EXPECT_EQ(fires(values, others, {{"rtol", "1e-3"}, {"atol", "1e-6"}}),
              differ);
    fired += differ;
  }
  EXPECT_GT(fired, 0);
}

}  // namespace
}  // namespace smdebug
