#include "xgboost_report/prediction_sections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "xgboost_report/classification.h"
#include "xgboost_report/plot/value_bins.h"
#include "xgboost_report/regression_errors.h"

namespace smdebug {
namespace {

using Task = XgboostReport::Task;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr const char* kSavePredictions =
    "This section compares predictions with labels: save both collections, "
    "'predictions' and 'labels': smdebug.xgboost.Hook(..., "
    "validation_data=dvalid, include_collections=['predictions', 'labels'], "
    "save_config=SaveConfig(save_interval=5)).";

void miss_all(const std::string& why, XgboostReport& report) {
  report.confusion.missing = why;
  report.scores.missing = why;
  report.class_accuracy.missing = why;
  report.roc.missing = why;
  report.residuals.missing = why;
  report.binned_errors.missing = why;
}

std::vector<Step> evaluated(const std::vector<Step>& rounds) {
  if (rounds.size() <= kEvaluatedRounds) return rounds;
  std::vector<Step> chosen;
  for (std::size_t i = 0; i < kEvaluatedRounds; ++i) {
    chosen.push_back(rounds[i * (rounds.size() - 1) / (kEvaluatedRounds - 1)]);
  }
  return chosen;
}

// The diagonal of the confusion matrix, round by round.
class ClassCourse {
 public:
  void add(Step round, const SampleClasses& classes) {
    if (labels_.size() > kMostClasses) return;  // they are no classes
    std::map<std::int64_t, Counts> counts;
    for (std::size_t i = 0; i < classes.truth.size(); ++i) {
      Counts& of_class = counts[classes.truth[i]];
      ++of_class.all;
      if (classes.truth[i] == classes.predicted[i]) ++of_class.hits;
    }
    for (const auto& [label, ignored] : counts) labels_.insert(label);
    rounds_.push_back({round, classes.truth.size(), std::move(counts)});
  }

  XgboostReport::ClassAccuracy result() const {
    XgboostReport::ClassAccuracy result;
    for (const Round& round : rounds_) result.rounds.push_back(round.step);
    for (const std::int64_t label : labels_) {
      result.classes.push_back(label);
      std::vector<double>& accuracy = result.accuracy.emplace_back();
      std::vector<double>& share = result.share.emplace_back();
      for (const Round& round : rounds_) {
        const auto found = round.counts.find(label);
        const bool is_there = found != round.counts.end();
        const double hits = is_there ? found->second.hits : 0;
        accuracy.push_back(is_there ? hits / found->second.all : kNaN);
        share.push_back(is_there ? hits / static_cast<double>(round.samples)
                                 : kNaN);
      }
    }
    return result;
  }

 private:
  struct Counts {
    double hits = 0;
    double all = 0;
  };
  struct Round {
    Step step = 0;
    std::size_t samples = 0;
    std::map<std::int64_t, Counts> counts;
  };

  std::vector<Round> rounds_;
  std::set<std::int64_t> labels_;
};

void fill_roc(const Samples& last, XgboostReport& report) {
  if (report.task != Task::binary) {
    report.roc.missing =
        "Shown for models of two classes only; this one has more.";
    return;
  }
  std::vector<bool> positive;
  for (const double label : last.labels) {
    positive.push_back(label_class(label) == 1);
  }
  XgboostReport::Roc roc = roc_of(positive, positive_scores(last));
  roc.round = last.round;
  if (std::isnan(roc.auc)) {
    report.roc.missing = fmt::format(
        "A ROC curve needs samples of both classes; there are {} of class 1 "
        "and {} others.",
        roc.positives, roc.negatives);
    return;
  }
  report.roc.shown = std::move(roc);
}

void fill_classification(const Samples& last, const ClassCourse& course,
                         XgboostReport& report) {
  const std::string other_task =
      "Shown for regressions only; this model tells classes.";
  report.residuals.missing = report.binned_errors.missing = other_task;
  SampleClasses classes = sample_classes(last, report.task);
  auto confusion = confusion_of(classes.truth, classes.predicted);
  if (confusion.counts.empty()) {
    const std::string why = fmt::format(
        "The labels and predictions have {} different values; more than {} "
        "are no classes.",
        confusion.classes.size(), kMostClasses);
    report.confusion.missing = report.scores.missing = why;
    report.class_accuracy.missing = why;
  } else {
    confusion.round = last.round;
    confusion.left_out = last.left_out;
    confusion.cut = std::move(classes.cut);
    report.scores.shown = scores_of(confusion);
    report.confusion.shown = std::move(confusion);
    report.class_accuracy.shown = course.result();
  }
  fill_roc(last, report);
}

void fill_regression(const Samples& last, const ErrorCourse& course,
                     XgboostReport& report) {
  const std::string other_task =
      "Shown for classifications only; this model predicts a number.";
  report.confusion.missing = report.scores.missing = other_task;
  report.class_accuracy.missing = report.roc.missing = other_task;
  report.residuals.shown = residuals_of(last);
  report.binned_errors.shown = course.result();
}

}  // namespace

void read_prediction_sections(SavedSamples& saved, XgboostReport& report) {
  if (saved.rounds().empty() || saved.label_rounds().empty()) {
    const bool has_predictions = !saved.rounds().empty();
    miss_all(fmt::format("{} not saved. {}",
                         has_predictions ? "Labels were" : "Predictions were",
                         kSavePredictions),
             report);
    return;
  }
  report.prediction_rounds = saved.rounds().size();
  const bool is_regression = report.task == Task::regression;
  std::optional<Samples> last;
  std::string problem;
  ClassCourse classes;
  // The bins of the labels are those of the last round.
  const auto newest = saved.labels(saved.rounds().back());
  ErrorCourse errors(newest ? *newest : std::vector<double>());
  for (const Step round : evaluated(saved.rounds())) {
    auto samples = saved.at(round);
    if (!samples) {
      problem = samples.error().message;
      report.left_out.push_back({"predictions", problem});
      continue;
    }
    if (samples->labels.empty()) {
      problem = fmt::format("no sample of step {} has finite numbers", round);
      continue;
    }
    if (is_regression && samples->columns > 1) {
      problem = fmt::format("a regression with {} numbers per prediction",
                            samples->columns);
      continue;
    }
    ++report.evaluated_rounds;
    if (is_regression) {
      errors.add(*samples);
    } else {
      classes.add(round, sample_classes(*samples, report.task));
    }
    last = *std::move(samples);
  }
  if (!last) {
    miss_all("Predictions and labels could not be used: " + problem + ".",
             report);
  } else if (is_regression) {
    fill_regression(*last, errors, report);
  } else {
    fill_classification(*last, classes, report);
  }
}

}  // namespace smdebug
