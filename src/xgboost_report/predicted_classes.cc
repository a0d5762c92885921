#include "xgboost_report/predicted_classes.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace smdebug {
namespace {

// No double beyond it is every integer.
constexpr double kLargestClass = 9007199254740992;  // 2^53

std::int64_t largest_of(std::span<const double> scores) {
  return std::ranges::max_element(scores) - scores.begin();
}

bool is_probability(double value) { return value >= 0 && value <= 1; }

}  // namespace

std::int64_t label_class(double label) {
  return static_cast<std::int64_t>(
      std::nearbyint(std::clamp(label, -kLargestClass, kLargestClass)));
}

SampleClasses sample_classes(const Samples& samples, XgboostReport::Task task) {
  SampleClasses classes;
  for (const double label : samples.labels) {
    classes.truth.push_back(label_class(label));
  }
  if (samples.columns > 1) {
    classes.cut = "The predicted class is that of the largest score.";
    const std::span<const double> scores(samples.predictions);
    for (std::size_t i = 0; i < samples.labels.size(); ++i) {
      classes.predicted.push_back(
          largest_of(scores.subspan(i * samples.columns, samples.columns)));
    }
  } else if (task == XgboostReport::Task::multiclass) {
    classes.cut = "The prediction is the class.";
    for (const double prediction : samples.predictions) {
      classes.predicted.push_back(label_class(prediction));
    }
  } else {
    const bool are_probabilities =
        std::ranges::all_of(samples.predictions, is_probability);
    const double cut = are_probabilities ? 0.5 : 0;
    classes.cut = are_probabilities
                      ? "Class 1 is predicted above a probability of 0.5."
                      : "The predictions are margins; class 1 is predicted "
                        "above 0.";
    for (const double prediction : samples.predictions) {
      classes.predicted.push_back(prediction > cut ? 1 : 0);
    }
  }
  return classes;
}

std::vector<double> positive_scores(const Samples& samples) {
  if (samples.columns == 1) return samples.predictions;
  std::vector<double> scores;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    scores.push_back(samples.predictions[i * samples.columns + 1]);
  }
  return scores;
}

}  // namespace smdebug
