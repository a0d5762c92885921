#include "xgboost_report/task_type.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace smdebug {
namespace {

using Task = XgboostReport::Task;

// More classes than this are taken for a quantity that was counted.
constexpr std::size_t kMostLabelClasses = 100;

Task task_of_objective(std::string_view objective) {
  if (objective.starts_with("binary:")) return Task::binary;
  if (objective.starts_with("multi:")) return Task::multiclass;
  for (const std::string_view kind : {"reg:", "count:", "survival:", "rank:"}) {
    if (objective.starts_with(kind)) return Task::regression;
  }
  return Task::unknown;
}

bool is_one_of(std::string_view metric,
               std::initializer_list<std::string_view> names) {
  const std::string_view name = metric.substr(0, metric.find('@'));
  return std::ranges::find(names, name) != names.end();
}

// Only metrics that are of one task alone tell.
Task task_of_metric(std::string_view metric) {
  if (is_one_of(metric, {"mlogloss", "merror"})) return Task::multiclass;
  if (is_one_of(metric, {"logloss", "error"})) return Task::binary;
  if (is_one_of(metric,
                {"rmse", "rmsle", "mae", "mape", "mphe", "poisson-nloglik",
                 "gamma-nloglik", "gamma-deviance", "tweedie-nloglik",
                 "cox-nloglik", "aft-nloglik", "quantile"})) {
    return Task::regression;
  }
  return Task::unknown;
}

InferredTask by_labels(const std::vector<double>& labels) {
  const std::set<double> classes(labels.begin(), labels.end());
  if (*classes.begin() < 0 || classes.size() > kMostLabelClasses) {
    return {Task::regression,
            fmt::format("the labels have {} different values from {:g} to {:g}",
                        classes.size(), *classes.begin(), *classes.rbegin())};
  }
  if (*classes.rbegin() <= 1) {
    return {Task::binary, "every label is 0 or 1"};
  }
  return {Task::multiclass,
          fmt::format("the labels are {} different whole numbers from 0 on",
                      classes.size())};
}

}  // namespace

std::string_view task_name(Task task) {
  switch (task) {
    case Task::binary:
      return "binary";
    case Task::multiclass:
      return "multiclass";
    case Task::regression:
      return "regression";
    case Task::unknown:
      break;
  }
  return "unknown";
}

InferredTask infer_task(const TaskEvidence& evidence) {
  if (const Task task = task_of_objective(evidence.objective);
      task != Task::unknown) {
    return {task, fmt::format("the objective is '{}'", evidence.objective)};
  }
  const auto fraction = std::ranges::find_if(
      evidence.labels, [](double label) { return label != std::floor(label); });
  if (fraction != evidence.labels.end()) {
    return {Task::regression,
            fmt::format("{:g} is a label, and no whole number", *fraction)};
  }
  for (const std::string& metric : evidence.metrics) {
    const Task task = task_of_metric(metric);
    if (task != Task::unknown) {
      return {task, fmt::format("'{}' is a metric", metric)};
    }
  }
  if (evidence.prediction_columns > 1) {
    return {Task::multiclass,
            fmt::format("each prediction is a row of {} numbers",
                        evidence.prediction_columns)};
  }
  if (!evidence.labels.empty()) return by_labels(evidence.labels);
  return {Task::unknown,
          "no objective, no labels and no metric of one task alone were saved"};
}

}  // namespace smdebug
