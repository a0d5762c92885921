#include "xgboost_report/predicted_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "xgboost_report/regression_errors.h"

namespace smdebug {
namespace {

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
  ErrorCourse course({0, 10});
  course.add(samples({0, 0.5, 10}, {1, 2.5, 4}));
  course.add(samples({0, 0.5, 10}, {0, 0.5, 10}));
  const auto errors = course.result();
  EXPECT_THAT(errors.errors[0], ElementsAre(1.5, 0));
  EXPECT_THAT(errors.errors[9], ElementsAre(6, 0));
  EXPECT_THAT(errors.errors[5], ElementsAre(IsNan(), IsNan()));
}

}  // namespace
}  // namespace smdebug
