// Reads the data of the report from a run.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/xgboost_report/xgboost_report.h"

#include "report/wording.h"
#include "rules/measures/element_values.h"
#include "xgboost_report/advice.h"
#include "xgboost_report/interpretation.h"
#include "xgboost_report/plot/scale.h"
#include "xgboost_report/prediction_quality.h"
#include "xgboost_report/predictions.h"

namespace smdebug {
namespace {

constexpr std::string_view kHyperparameters = "hyperparameters/";
constexpr std::string_view kImportance = "feature_importance/";
constexpr std::string_view kDeviation = "-std";  // of the folds of xgboost.cv
constexpr std::size_t kListedElements = 20;
constexpr std::size_t kLabelBins = 20;

constexpr std::string_view kInstead =
    "use 'smdebug show' and 'smdebug check' for this run";

// "train-logloss", and not "feature_importance/weight/air-pressure".
bool is_named_like_metric(std::string_view name) {
  return name.find('-') != name.npos && name.find('/') == name.npos;
}

std::set<std::string> names_in(Trial& trial, const char* collection) {
  if (!trial.find_collection(collection)) return {};
  TensorNameQuery query;
  query.collection = collection;
  const auto found = trial.tensor_names(query);
  if (!found) return {};
  return {found->begin(), found->end()};
}

// Returns the tensors of the collections `metrics` and `losses`. In a run
// without collections, such as one written by `FileWriter`, returns those
// named like metrics.
std::set<std::string> metric_names(Trial& trial) {
  std::set<std::string> names = names_in(trial, "metrics");
  names.merge(names_in(trial, "losses"));
  if (trial.collections().empty()) {
    std::ranges::copy_if(trial.tensor_names(),
                         std::inserter(names, names.end()),
                         is_named_like_metric);
  }
  return names;
}

bool is_named_like_sample_or_tree(const std::string& name) {
  return name == "labels" || name == "predictions" ||
         name.starts_with(kImportance) || name.starts_with(kHyperparameters) ||
         name.starts_with("trees/") || name.starts_with("average_shap/") ||
         name.starts_with("full_shap/");
}

// A loss of another framework, such as "CrossEntropyLoss_output_0" or "loss",
// has no evaluation set in its name.
bool has_names_of_xgboost(Trial& trial) {
  if (std::ranges::any_of(trial.tensor_names(), is_named_like_sample_or_tree))
    return true;
  return std::ranges::all_of(names_in(trial, "losses"), is_named_like_metric) &&
         std::ranges::any_of(metric_names(trial), is_named_like_metric);
}

std::string text_of(const TensorValue& value) {
  std::vector<std::string> texts;
  if (is_string(value.dtype())) {
    texts = value.strings();
  } else {
    for (const double number : values_of(value.view())) {
      texts.push_back(fmt::format("{:.10g}", number));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(texts.size(), kListedElements); ++i) {
    text += (i > 0 ? ", " : "") + texts[i];
  }
  return texts.size() > kListedElements ? text + ", …" : text;
}

class Reader {
 public:
  Reader(Trial& trial, XgboostReport& report)
      : trial_(trial), report_(report), names_(trial.tensor_names()) {}

  void read() {
    read_hyperparameters();
    read_metrics();
    read_importance();
    SavedSamples samples(trial_);
    infer(samples);
    read_labels(samples);
    read_prediction_sections(samples, report_);
  }

 private:
  void leave_out(const std::string& tensor, const Error& error) {
    report_.left_out.push_back({tensor, error.message});
  }

  std::vector<std::string> names_below(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const std::string& name : names_) {
      if (name.starts_with(prefix)) found.push_back(name);
    }
    return found;
  }

  // Returns the last value of a tensor, or nothing if it cannot be read.
  std::optional<StepValue> last_value(const std::string& name) {
    auto tensor = trial_.tensor(name);
    if (!tensor) return std::nullopt;
    const std::vector<Step> steps = tensor->steps();
    if (steps.empty()) return std::nullopt;
    auto value = tensor->value({steps.back(), Mode::global, std::nullopt});
    if (!value) {
      leave_out(name, value.error());
      return std::nullopt;
    }
    return StepValue{steps.back(), *std::move(value)};
  }

  void read_hyperparameters() {
    std::vector<XgboostReport::Hyperparameter> found;
    for (const std::string& name : names_below(kHyperparameters)) {
      const auto last = last_value(name);
      if (!last) continue;
      found.push_back(
          {name.substr(kHyperparameters.size()), text_of(last->value)});
    }
    if (found.empty()) {
      report_.hyperparameters.missing = hyperparameters_not_saved(report_);
      return;
    }
    report_.hyperparameters.shown = std::move(found);
  }

  // Returns the values of a tensor at the steps where it is a single number.
  XgboostReport::Metric::Line line_of(const std::string& name) {
    XgboostReport::Metric::Line line;
    auto tensor = trial_.tensor(name);
    if (!tensor) return line;
    const std::vector<Step> steps = tensor->steps();
    // Reading all values at once is faster; reading them one by one skips
    // damaged records.
    auto values = tensor->values(Mode::global);
    std::size_t unread = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto value = values
                       ? Result<TensorValue>((*values)[i].value)
                       : tensor->value({steps[i], Mode::global, std::nullopt});
      if (!value) {
        // Report only the first of possibly many.
        if (unread++ == 0) leave_out(name, value.error());
        continue;
      }
      const auto elements = values_of(value->view());
      if (elements.size() != 1) continue;
      line.rounds.push_back(steps[i]);
      line.values.push_back(elements[0]);
    }
    return line;
  }

  void read_metrics() {
    std::map<std::string, XgboostReport::Metric> by_name;
    for (const std::string& tensor : metric_names(trial_)) {
      auto line = line_of(tensor);
      if (line.rounds.empty()) continue;
      // "train-logloss"; other names have no evaluation set.
      const std::size_t dash = tensor.find('-');
      const bool has_set = dash != tensor.npos;
      line.set = has_set ? tensor.substr(0, dash) : tensor;
      const std::string name = has_set ? tensor.substr(dash + 1) : tensor;
      by_name[name].lines.push_back(std::move(line));
    }
    LossRoles roles;
    for (const WorkerFacts& one : trial_.facts()) roles.add(one.facts);
    std::vector<XgboostReport::Metric> metrics;
    const auto is_deviation = [&](const std::string& name) {
      return name.ends_with(kDeviation) &&
             by_name.contains(name.substr(0, name.size() - kDeviation.size()));
    };
    for (auto& [name, metric] : by_name) {
      metric.name = name;
      metric.is_deviation = is_deviation(name);
      metric.larger_is_better =
          !metric.is_deviation && is_better_when_larger(name);
      metric.reading = fitting_assessment(metric, roles);
      report_.is_of_folds |= metric.is_deviation;
      metrics.push_back(std::move(metric));
    }
    if (metrics.empty()) {
      report_.metrics.missing = metrics_not_saved(report_);
      return;
    }
    report_.metrics.shown = std::move(metrics);
  }

  void read_importance() {
    std::map<std::string, XgboostReport::Importance> by_type;
    for (const std::string& name : names_below(kImportance)) {
      const std::string rest = name.substr(kImportance.size());
      const std::size_t slash = rest.find('/');
      if (slash == rest.npos) continue;
      const auto last = last_value(name);
      if (!last) continue;
      const auto elements = values_of(last->value.view());
      if (elements.size() != 1 || !is_shown(elements[0])) continue;
      add_importance(rest.substr(slash + 1), elements[0], last->step,
                     by_type[rest.substr(0, slash)]);
    }
    std::vector<XgboostReport::Importance> all;
    for (const char* type :
         {"weight", "gain", "cover", "total_gain", "total_cover"}) {
      if (auto found = by_type.extract(type)) {
        found.mapped().type = type;
        all.push_back(std::move(found.mapped()));
      }
    }
    for (auto& [type, importance] : by_type) {
      importance.type = type;
      all.push_back(std::move(importance));
    }
    for (auto& importance : all) {
      std::ranges::stable_sort(importance.features, std::ranges::greater(),
                               &XgboostReport::Importance::Feature::value);
    }
    if (all.empty()) {
      report_.importance.missing = importance_not_saved(report_);
      return;
    }
    report_.importance.shown = std::move(all);
  }

  // Keeps only the features of the newest round: importances are shares of a
  // whole.
  static void add_importance(const std::string& feature, double value,
                             Step round,
                             XgboostReport::Importance& importance) {
    if (round < importance.round) return;
    if (round > importance.round) importance.features.clear();
    importance.round = round;
    importance.features.push_back({feature, value});
  }

  void infer(SavedSamples& samples) {
    TaskEvidence evidence;
    if (report_.hyperparameters.shown) {
      for (const auto& parameter : *report_.hyperparameters.shown) {
        if (parameter.name == "objective") evidence.objective = parameter.value;
      }
    }
    if (report_.metrics.shown) {
      for (const auto& metric : *report_.metrics.shown) {
        evidence.metrics.push_back(metric.name);
      }
    }
    if (!samples.label_rounds().empty()) {
      const auto labels = samples.labels(samples.label_rounds().back());
      if (labels) {
        std::ranges::copy_if(*labels, std::back_inserter(evidence.labels),
                             is_shown);
      }
    }
    if (!samples.rounds().empty()) {
      const auto last = samples.at(samples.rounds().back());
      if (last) evidence.prediction_columns = last->columns;
    }
    InferredTask inferred = infer_task(evidence);
    report_.task = inferred.task;
    report_.task_reason = std::move(inferred.reason);
  }

  void read_labels(SavedSamples& samples) {
    if (samples.label_rounds().empty()) {
      report_.labels.missing = labels_not_saved(report_);
      return;
    }
    XgboostReport::Labels labels;
    labels.round = samples.label_rounds().back();
    const auto all = samples.labels(labels.round);
    if (!all) {
      leave_out("labels", all.error());
      report_.labels.missing =
          "The labels could not be used: " + all.error().message + ".";
      return;
    }
    std::vector<double> shown;
    std::ranges::copy_if(*all, std::back_inserter(shown), is_shown);
    labels.samples = shown.size();
    labels.left_out = all->size() - shown.size();
    if (shown.empty()) {
      report_.labels.missing = "No label is a finite number.";
      return;
    }
    if (report_.task == XgboostReport::Task::regression) {
      labels.bins = bins_of(shown, kLabelBins);
    } else {
      std::map<std::int64_t, std::uint64_t> counts;
      for (const double label : shown) ++counts[label_class(label)];
      labels.classes.assign(counts.begin(), counts.end());
    }
    report_.labels.shown = std::move(labels);
  }

  Trial& trial_;
  XgboostReport& report_;
  std::vector<std::string> names_;
};

}  // namespace

Status check_xgboost_run(Trial& trial, std::string_view run) {
  const auto overview = read_run_overview(trial);
  const std::string framework = overview ? overview->framework : "";
  if (framework == "xgboost") return {};
  // Programs without a framework ("plain") may have saved the tensors of an
  // XGBoost training.
  if (framework.empty() || framework == "plain")
    return check_xgboost_tensors(trial, run);
  return Error{Error::Code::unsupported,
               fmt::format("run '{}' was recorded with {}, but the report "
                           "covers only XGBoost trainings; {}",
                           run, framework, kInstead)};
}

Status check_xgboost_tensors(Trial& trial, std::string_view run) {
  if (has_names_of_xgboost(trial)) return {};
  return Error{
      Error::Code::not_found,
      fmt::format(
          "run '{}' contains no data of an XGBoost training, such as "
          "'train-rmse' or 'labels', but the report covers only XGBoost "
          "trainings; {}",
          run, kInstead)};
}

Result<XgboostReport> read_xgboost_report(Trial& trial, double now_seconds) {
  XgboostReport report;
  SMD_TRY(report.overview, read_run_overview(trial));
  report.created_seconds = now_seconds;
  Reader(trial, report).read();
  return report;
}

}  // namespace smdebug
