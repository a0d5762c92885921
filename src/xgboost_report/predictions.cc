#include "xgboost_report/predictions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "report/wording.h"
#include "rules/measures/element_values.h"
#include "xgboost_report/advice.h"
#include "xgboost_report/plot/scale.h"
#include "xgboost_report/prediction_quality.h"

namespace smdebug {
namespace {

constexpr std::string_view kLabels = "labels";
constexpr std::string_view kPredictions = "predictions";

std::vector<Step> rounds_of(Trial& trial, std::string_view name) {
  if (!trial.has_tensor(name)) return {};
  auto tensor = trial.tensor(name);
  return tensor ? tensor->steps() : std::vector<Step>();
}

Result<TensorValue> value_at(Trial& trial, std::string_view name, Step round) {
  SMD_TRY(auto tensor, trial.tensor(name));
  SMD_TRY(auto value, tensor.value({round, Mode::global, std::nullopt}));
  if (is_string(value.dtype())) {
    return Error{
        Error::Code::unsupported,
        fmt::format("tensor '{}' at step {} contains text; numbers were "
                    "expected",
                    name, round)};
  }
  return value;
}

// Returns the extents without trailing ones: (n) for (n, 1).
std::vector<std::int64_t> bare_shape(const TensorValue& value) {
  std::vector<std::int64_t> shape = value.shape();
  while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
  return shape;
}

}  // namespace

SavedSamples::SavedSamples(Trial& trial)
    : trial_(trial),
      rounds_(rounds_of(trial, kPredictions)),
      label_rounds_(rounds_of(trial, kLabels)) {}

Result<std::vector<double>> SavedSamples::labels(Step round) {
  if (label_rounds_.empty()) {
    return Error{Error::Code::not_found, "no labels were saved"};
  }
  const auto after = std::ranges::upper_bound(label_rounds_, round);
  const Step at =
      after == label_rounds_.begin() ? label_rounds_.front() : *(after - 1);
  SMD_TRY(const auto value, value_at(trial_, kLabels, at));
  if (bare_shape(value).size() > 1) {
    return Error{Error::Code::unsupported,
                 fmt::format("labels of shape {} at step {} have several "
                             "numbers per sample; the report supports only "
                             "models with one output",
                             shape_text(value.shape()), at)};
  }
  return values_of(value.view());
}

Result<Samples> SavedSamples::at(Step round) {
  SMD_TRY(const auto labels, this->labels(round));
  SMD_TRY(const auto value, value_at(trial_, kPredictions, round));
  const std::vector<double> predictions = values_of(value.view());
  // Old versions of XGBoost return the rows of multi:softprob concatenated, in
  // one dimension.
  if (labels.empty() || predictions.empty() ||
      predictions.size() % labels.size() != 0 ||
      (value.shape().size() > 1 &&
       value.shape().front() != static_cast<std::int64_t>(labels.size()))) {
    return Error{
        Error::Code::unsupported,
        fmt::format("predictions of shape {} at step {} do not match {}",
                    shape_text(value.shape()), round,
                    count_text(labels.size(), "label"))};
  }
  Samples samples;
  samples.round = round;
  samples.columns = predictions.size() / labels.size();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row =
        std::span(predictions).subspan(i * samples.columns, samples.columns);
    if (!is_shown(labels[i]) || !std::ranges::all_of(row, is_shown)) {
      ++samples.left_out;
      continue;
    }
    samples.labels.push_back(labels[i]);
    samples.predictions.insert(samples.predictions.end(), row.begin(),
                               row.end());
  }
  return samples;
}

namespace {

using Task = XgboostReport::Task;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void miss_all(const std::string& why, XgboostReport& report) {
  report.confusion.missing = why;
  report.scores.missing = why;
  report.class_accuracy.missing = why;
  report.roc.missing = why;
  report.residuals.missing = why;
  report.binned_errors.missing = why;
}

// Whether labels and predictions have different scales: the scores of a
// ranking, or hazards.
bool predicts_scores(const XgboostReport& report) {
  if (!report.hyperparameters.shown) return false;
  return std::ranges::any_of(
      *report.hyperparameters.shown, [](const auto& parameter) {
        return parameter.name == "objective" &&
               (parameter.value.starts_with("rank:") ||
                parameter.value.starts_with("survival:"));
      });
}

std::vector<Step> evaluated(const std::vector<Step>& rounds) {
  if (rounds.size() <= kEvaluatedRounds) return rounds;
  std::vector<Step> chosen;
  for (std::size_t i = 0; i < kEvaluatedRounds; ++i) {
    chosen.push_back(rounds[i * (rounds.size() - 1) / (kEvaluatedRounds - 1)]);
  }
  return chosen;
}

// The accuracy of each class over the rounds: the diagonal of the confusion
// matrix.
class ClassHistory {
 public:
  void add(Step round, const SampleClasses& classes) {
    if (labels_.size() > kMostClasses) return;  // not classes
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
        const bool is_present = found != round.counts.end();
        const double hits = is_present ? found->second.hits : 0;
        accuracy.push_back(is_present ? hits / found->second.all : kNaN);
        share.push_back(is_present ? hits / static_cast<double>(round.samples)
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
        "Shown only for models with two classes; this one has more.";
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
        "A ROC curve needs samples of both classes; this run has {} of class 1 "
        "and {} others.",
        roc.positives, roc.negatives);
    return;
  }
  report.roc.shown = std::move(roc);
}

void fill_classification(const Samples& last, const ClassHistory& course,
                         XgboostReport& report) {
  const std::string other_task =
      "Shown only for regression; this model predicts classes.";
  report.residuals.missing = report.binned_errors.missing = other_task;
  SampleClasses classes = sample_classes(last, report.task);
  auto confusion = confusion_of(classes.truth, classes.predicted);
  if (confusion.counts.empty()) {
    const std::string why = fmt::format(
        "The labels and predictions have {} different values; more than {} "
        "are not treated as classes.",
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

void fill_regression(const Samples& last, const BinnedErrorHistory& course,
                     XgboostReport& report) {
  const std::string other_task =
      "Shown only for classification; this model predicts a number.";
  report.confusion.missing = report.scores.missing = other_task;
  report.class_accuracy.missing = report.roc.missing = other_task;
  report.residuals.shown = residuals_of(last);
  report.binned_errors.shown = course.result();
}

}  // namespace

void read_prediction_sections(SavedSamples& saved, XgboostReport& report) {
  if (saved.rounds().empty() || saved.label_rounds().empty()) {
    miss_all(predictions_not_saved(report, !saved.rounds().empty()), report);
    return;
  }
  if (predicts_scores(report)) {
    miss_all(
        "Shown only for classification and regression; this model predicts "
        "scores without a unit.",
        report);
    return;
  }
  report.prediction_rounds = saved.rounds().size();
  const bool is_regression = report.task == Task::regression;
  std::optional<Samples> last;
  std::string problem;
  ClassHistory classes;
  // The labels of the last round determine the bins.
  const auto newest = saved.labels(saved.rounds().back());
  BinnedErrorHistory errors(newest ? *newest : std::vector<double>());
  for (const Step round : evaluated(saved.rounds())) {
    auto samples = saved.at(round);
    if (!samples) {
      problem = samples.error().message;
      report.left_out.push_back({"predictions", problem});
      continue;
    }
    if (samples->labels.empty()) {
      problem = fmt::format(
          "all samples of step {} have numbers that are not finite", round);
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
