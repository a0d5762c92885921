#pragma once

// What an XGBoost training learns: one of two classes, one of several, or a
// number.

#include <cstdint>
#include <string>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

struct TaskEvidence {
  std::string objective;             // empty: was not saved
  std::vector<std::string> metrics;  // "logloss", "rmse"
  std::vector<double> labels;        // finite
  std::size_t prediction_columns = 0;
};

struct InferredTask {
  XgboostReport::Task task = XgboostReport::Task::unknown;
  std::string reason;
};

// Asks, in this order: the objective, labels that are no whole numbers, the
// metrics, predictions of several columns, how many classes the labels are of.
InferredTask infer_task(const TaskEvidence& evidence);

}  // namespace smdebug
