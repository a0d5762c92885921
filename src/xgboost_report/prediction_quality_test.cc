#include "xgboost_report/prediction_quality.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Confusion, CountsTrueClassesInRows) {
  const std::vector<std::int64_t> truth = {5, 5, 7, 7, 7};
  const std::vector<std::int64_t> predicted = {5, 7, 7, 7, -1};
  const auto confusion = confusion_of(truth, predicted);
  EXPECT_THAT(confusion.classes, ElementsAre(-1, 5, 7));
  EXPECT_THAT(confusion.counts, ElementsAre(0, 0, 0, 0, 1, 1, 1, 0, 2));
}

TEST(Confusion, GivesUpOverThingsThatAreNoClasses) {
  std::vector<std::int64_t> many(kMostClasses + 1);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<std::int64_t>(i);
  }
  const auto confusion = confusion_of(many, many);
  EXPECT_EQ(confusion.classes.size(), many.size());
  EXPECT_THAT(confusion.counts, IsEmpty());
}

// sklearn.metrics.precision_recall_fscore_support([0,0,0,1,1,2],
// [0,0,1,1,0,0], zero_division=0), and its averages.
TEST(Scores, AreThoseOfScikitLearn) {
  const std::vector<std::int64_t> truth = {0, 0, 0, 1, 1, 2};
  const std::vector<std::int64_t> predicted = {0, 0, 1, 1, 0, 0};
  const auto scores = scores_of(confusion_of(truth, predicted));
  EXPECT_DOUBLE_EQ(scores.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(scores.micro.f1, 0.5);
  ASSERT_EQ(scores.classes.size(), 3u);
  EXPECT_DOUBLE_EQ(scores.classes[0].triple.precision, 0.5);
  EXPECT_DOUBLE_EQ(scores.classes[0].triple.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(scores.classes[0].triple.f1, 4.0 / 7);
  EXPECT_EQ(scores.classes[0].support, 3u);
  // Never predicted: 0, and no division by 0.
  EXPECT_EQ(scores.classes[2].triple.precision, 0);
  EXPECT_EQ(scores.classes[2].triple.f1, 0);
  EXPECT_DOUBLE_EQ(scores.macro.precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(scores.weighted.recall, 0.5);
}

// The chance that a positive sample has the higher score, ties half: another
// meaning of the area, counted pair by pair.
double area_by_pairs(const std::vector<bool>& positive,
                     const std::vector<double>& scores) {
  double higher = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (!positive[i] || positive[j]) continue;
      ++pairs;
      if (scores[i] > scores[j]) higher += 1;
      if (scores[i] == scores[j]) higher += 0.5;
    }
  }
  return higher / pairs;
}

TEST(Roc, HasTheAreaThatCountingPairsGives) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int levels : {3, 1000}) {
    std::uniform_int_distribution<int> level(0, levels);
    std::vector<bool> positive = {true, false};
    std::vector<double> scores = {0.5, 0.5};
    for (int i = 0; i < 300; ++i) {
      positive.push_back(random() % 3 == 0);
      scores.push_back(level(random) + (positive.back() ? levels / 4.0 : 0));
    }
    const auto roc = roc_of(positive, scores);
    EXPECT_NEAR(roc.auc, area_by_pairs(positive, scores), 1e-12);
    EXPECT_EQ(roc.false_positive_rate.front(), 0);
    EXPECT_DOUBLE_EQ(roc.true_positive_rate.back(), 1);
    EXPECT_TRUE(std::ranges::is_sorted(roc.false_positive_rate));
  }
}

TEST(Roc, OfManySamplesKeepsAThousandPointsAndTheWholeArea) {
  std::vector<bool> positive;
  std::vector<double> scores;
  for (int i = 0; i < 5000; ++i) {
    positive.push_back(i % 2 == 0);
    scores.push_back(i);
  }
  const auto roc = roc_of(positive, scores);
  EXPECT_EQ(roc.false_positive_rate.size(), 1000u);
  EXPECT_EQ(roc.true_positive_rate.size(), 1000u);
  EXPECT_DOUBLE_EQ(roc.false_positive_rate.back(), 1);
  // Each negative beats the positives below it: the i-th has i + 1 of them.
  EXPECT_NEAR(roc.auc, 1 - (2500.0 + 1) / (2 * 2500), 1e-12);
}

TEST(Roc, HasNoAreaWithOneClassAlone) {
  const std::vector<double> scores = {0.1, 0.2};
  EXPECT_TRUE(std::isnan(roc_of({true, true}, scores).auc));
  EXPECT_TRUE(std::isnan(roc_of({false, false}, scores).auc));
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using Task = XgboostReport::Task;

Samples samples(std::vector<double> labels, std::vector<double> predictions) {
  Samples samples;
  samples.columns = predictions.size() / labels.size();
  samples.labels = std::move(labels);
  samples.predictions = std::move(predictions);
  return samples;
}

TEST(PredictedClasses, OfProbabilitiesAreCutAboveAHalf) {
  const auto classes =
      sample_classes(samples({0, 1, 1}, {0.5, 0.51, 0}), Task::binary);
  EXPECT_THAT(classes.truth, ElementsAre(0, 1, 1));
  EXPECT_THAT(classes.predicted, ElementsAre(0, 1, 0));
}

TEST(PredictedClasses, OfMarginsAreCutAboveZero) {
  const auto classes =
      sample_classes(samples({0, 1, 1}, {-0.2, 0.3, 2}), Task::binary);
  EXPECT_THAT(classes.predicted, ElementsAre(0, 1, 1));
  EXPECT_THAT(classes.cut, HasSubstr("margins"));
}

TEST(PredictedClasses, OfScoresAreTheLargest) {
  const auto classes = sample_classes(
      samples({2, 0}, {0.1, 0.2, 0.7, 0.4, 0.4, 0.2}), Task::multiclass);
  EXPECT_THAT(classes.predicted, ElementsAre(2, 0));
}

TEST(PredictedClasses, OfAMulticlassModelMayBeThePredictions) {
  const auto classes =
      sample_classes(samples({0, 3}, {1, 3}), Task::multiclass);
  EXPECT_THAT(classes.predicted, ElementsAre(1, 3));
}

TEST(RegressionErrors, ArePredictionMinusTruth) {
  const auto residuals =
      residuals_of(samples({1, 2, 3, 4}, {2, 2, 1, 4.5}));  // 1, 0, -2, 0.5
  EXPECT_DOUBLE_EQ(residuals.mean, -0.125);
  EXPECT_DOUBLE_EQ(residuals.median, 0.25);
  EXPECT_DOUBLE_EQ(residuals.mean_absolute, 0.875);
  EXPECT_NEAR(residuals.root_mean_square, 1.14564392373896, 1e-12);
  EXPECT_NEAR(residuals.standard_deviation, 1.13880419739299, 1e-12);
  EXPECT_EQ(residuals.bins.edges.front(), -2);
  EXPECT_EQ(residuals.bins.edges.back(), 1);
}

TEST(RegressionErrors, AreAveragedByBinOfTheLabel) {
  // Edges 0, 1, ..., 10.
  BinnedErrorHistory course({0, 10});
  course.add(samples({0, 0.5, 10}, {1, 2.5, 4}));
  course.add(samples({0, 0.5, 10}, {0, 0.5, 10}));
  const auto errors = course.result();
  EXPECT_THAT(errors.errors[0], ElementsAre(1.5, 0));
  EXPECT_THAT(errors.errors[9], ElementsAre(6, 0));
  EXPECT_THAT(errors.errors[5], ElementsAre(IsNan(), IsNan()));
}

}  // namespace

}  // namespace smdebug
