#pragma once

// Conclusions of the report: the task that a model was trained for, and
// whether its metrics indicate over- or underfitting.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

#include "rules/measures/loss_role.h"

namespace smdebug {

struct TaskEvidence {
  std::string objective;             // empty if it was not saved
  std::vector<std::string> metrics;  // "logloss", "rmse"
  std::vector<double> labels;        // finite
  std::size_t prediction_columns = 0;
};

struct InferredTask {
  XgboostReport::Task task = XgboostReport::Task::unknown;
  std::string reason;
};

// Considers, in this order: the objective, labels that are not integers, the
// metrics, predictions of several columns, and the number of distinct labels.
InferredTask infer_task(const TaskEvidence& evidence);

// Returns true for auc, map, ndcg and similar metrics, false for losses and
// errors. "ndcg@5" and "ndcg@5-" count as "ndcg".
bool is_better_when_larger(std::string_view metric);

// Compares the metric on the training set with that on the validation set, in
// a sentence or two. `roles` distinguishes them.
std::string fitting_assessment(const XgboostReport::Metric& metric,
                               const LossRoles& roles = {});

}  // namespace smdebug
