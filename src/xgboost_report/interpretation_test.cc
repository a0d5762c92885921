#include "xgboost_report/interpretation.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::HasSubstr;
using Task = XgboostReport::Task;

TEST(TaskType, IsWhatTheObjectiveSays) {
  // Against all other evidence.
  EXPECT_EQ(infer_task({"reg:logistic", {"mlogloss"}, {0, 1}, 3}).task,
            Task::regression);
  EXPECT_EQ(infer_task({"multi:softmax", {}, {0, 1}, 1}).task,
            Task::multiclass);
  EXPECT_EQ(infer_task({"binary:hinge", {"rmse"}, {}, 0}).task, Task::binary);
}

TEST(TaskType, IsSeenInLabelsAndMetricsWhereNoObjectiveWasSaved) {
  EXPECT_EQ(infer_task({"", {"logloss"}, {0, 0.5}, 1}).task, Task::regression);
  EXPECT_EQ(infer_task({"", {"rmse"}, {0, 1}, 1}).task, Task::regression);
  EXPECT_EQ(infer_task({"", {"auc", "mlogloss"}, {}, 0}).task,
            Task::multiclass);
  EXPECT_EQ(infer_task({"", {"auc", "error@0.7"}, {}, 0}).task, Task::binary);
  EXPECT_EQ(infer_task({"", {"auc"}, {0, 1}, 3}).task, Task::multiclass);
  EXPECT_EQ(infer_task({"", {"auc"}, {0, 1, 1}, 1}).task, Task::binary);
  EXPECT_EQ(infer_task({"", {}, {0, 2, 1}, 1}).task, Task::multiclass);
  EXPECT_EQ(infer_task({"", {}, {-1, 0, 2}, 1}).task, Task::regression);
}

TEST(TaskType, IsAQuantityWhereLabelsAreOfManyValues) {
  TaskEvidence counted;
  for (int i = 0; i < 101; ++i) counted.labels.push_back(i);
  EXPECT_EQ(infer_task(counted).task, Task::regression);
  counted.labels.pop_back();
  EXPECT_EQ(infer_task(counted).task, Task::multiclass);
}

TEST(TaskType, IsUnknownWithoutEvidenceAndSaysWhy) {
  const InferredTask inferred = infer_task({"", {"auc"}, {}, 0});
  EXPECT_EQ(inferred.task, Task::unknown);
  EXPECT_THAT(inferred.reason, HasSubstr("no labels"));
}

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Line = XgboostReport::Metric::Line;

Line line(const std::string& set, const std::function<double(int)>& value) {
  Line line;
  line.set = set;
  for (int round = 0; round < 100; ++round) {
    line.rounds.push_back(round);
    line.values.push_back(value(round));
  }
  return line;
}

XgboostReport::Metric metric(std::vector<Line> lines,
                             const std::string& name = "logloss") {
  XgboostReport::Metric metric;
  metric.name = name;
  metric.larger_is_better = is_better_when_larger(name);
  metric.lines = std::move(lines);
  return metric;
}

double falling(int round) { return 0.1 + std::exp(-0.05 * round); }

TEST(FittingAssessment, NamesTheRoundFromWhichTheModelOverFits) {
  const auto over =
      metric({line("train", falling), line("validation", [](int round) {
                return 0.5 + 0.0001 * (round - 40) * (round - 40);
              })});
  EXPECT_THAT(
      fitting_assessment(over),
      AllOf(HasSubstr("Overfitting"), HasSubstr("best at round 40 (0.5)"),
            HasSubstr("69.6 % worse at round 99")));
}

TEST(FittingAssessment, ReadsAMetricThatShouldGrowTheOtherWayRound) {
  const auto over =
      metric({line("train", [](int round) { return 0.5 + 0.004 * round; }),
              line("eval", [](int round) { return round < 20 ? 0.6 : 0.5; })},
             "auc");
  EXPECT_THAT(fitting_assessment(over),
              HasSubstr("Overfitting: eval was best at"));
}

TEST(FittingAssessment, CallsAModelThatStillImprovesUnderFitted) {
  const auto under = metric(
      {line("train", [](int round) { return 2 - 0.01 * round; }),
       line("validation", [](int round) { return 2.01 - 0.01 * round; })});
  EXPECT_THAT(
      fitting_assessment(under),
      AllOf(HasSubstr("underfits"), HasSubstr("no sign of overfitting")));
}

TEST(FittingAssessment, TellsOfAGap) {
  const auto gap = metric({line("train", [](int) { return 0.1; }),
                           line("my_holdout", [](int) { return 0.15; })});
  EXPECT_THAT(fitting_assessment(gap),
              AllOf(HasSubstr("my_holdout is 50 % worse"),
                    Not(HasSubstr("underfits"))));
}

TEST(FittingAssessment, NeverCallsAMetricBothOverFittedAndUnderFitted) {
  // A gap of 50 %, and a validation loss that still falls.
  const auto both =
      metric({line("train", [](int round) { return 2 - 0.01 * round; }),
              line("validation", [](int round) { return 3 - 0.015 * round; })});
  EXPECT_THAT(
      fitting_assessment(both),
      AllOf(HasSubstr("50 % worse than train"), HasSubstr("still improving"),
            HasSubstr("more rounds still help"), Not(HasSubstr("verfit")),
            Not(HasSubstr("underfit"))));
}

TEST(FittingAssessment, SeesOverFittingInTheSetsOfAnEstimator) {
  const auto over = metric(
      {line("validation_0", falling), line("validation_1", [](int round) {
         return 0.5 + 0.0001 * (round - 40) * (round - 40);
       })});
  EXPECT_THAT(
      fitting_assessment(over),
      AllOf(HasSubstr("Overfitting: validation_1 was best at round 40 (0.5)"),
            HasSubstr("while validation_0 kept improving")));
}

TEST(FittingAssessment, KnowsTheTrainingSetOfAnEstimatorFromTheFacts) {
  RunFacts facts;
  facts.training_sets = {"validation_0"};
  LossRoles roles;
  roles.add(facts);
  const auto gap = metric({line("validation_0", [](int) { return 0.1; }),
                           line("validation_1", [](int) { return 0.15; })});
  EXPECT_THAT(fitting_assessment(gap, roles),
              HasSubstr("validation_1 is 50 % worse than validation_0"));
  EXPECT_THAT(
      fitting_assessment(metric({line("validation_0", falling)}), roles),
      HasSubstr("validation_0 is the training set: evaluate other"));
  const auto named_too =
      metric({line("train", falling), line("validation_0", falling)});
  EXPECT_THAT(fitting_assessment(named_too, roles),
              HasSubstr("comparison of two sets"));
}

TEST(FittingAssessment, DescribesTheOnlySetOfAnEstimator) {
  const auto worse = metric({line("validation_0", [](int round) {
    return 0.5 + 0.0001 * (round - 40) * (round - 40);
  })});
  EXPECT_THAT(fitting_assessment(worse),
              AllOf(HasSubstr("best at round 40 (0.5) and is 69.6 % worse"),
                    HasSubstr("eval_set"), Not(HasSubstr("'train'"))));
  const auto better = metric({line("validation_0", falling)});
  EXPECT_THAT(fitting_assessment(better), HasSubstr("was still improving"));
}

TEST(FittingAssessment, IsNotGivenForADeviation) {
  auto deviation =
      metric({line("train", falling), line("test", falling)}, "logloss-std");
  deviation.is_deviation = true;
  EXPECT_EQ(fitting_assessment(deviation),
            "The standard deviation over the folds of xgboost.cv.");
}

TEST(FittingAssessment, SaysWhatItWouldNeed) {
  EXPECT_THAT(fitting_assessment(metric({line("train", falling)})),
              HasSubstr("comparison of two sets"));
  auto apart = metric({line("train", falling), line("validation", falling)});
  for (Step& round : apart.lines[1].rounds) round += 1000;
  EXPECT_THAT(fitting_assessment(apart), HasSubstr("Fewer than two rounds"));
}

TEST(FittingAssessment, NamesTheRoundThatIsNotFinite) {
  const auto bad =
      metric({line("train", falling), line("validation", [](int round) {
                return round == 7 ? std::nan("") : 1.0;
              })});
  EXPECT_EQ(fitting_assessment(bad), "The metric is not finite at round 7.");
}

TEST(FittingAssessment, KnowsMetricsThatShouldGrow) {
  for (const char* name : {"auc", "aucpr", "map", "ndcg@5", "ndcg@5-"}) {
    EXPECT_TRUE(is_better_when_larger(name)) << name;
  }
  for (const char* name : {"logloss", "error@0.7", "rmse", "mape"}) {
    EXPECT_FALSE(is_better_when_larger(name)) << name;
  }
}

}  // namespace

}  // namespace smdebug
