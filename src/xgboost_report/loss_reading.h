#pragma once

// What the courses of a metric on the training set and on a validation set
// say about over- and under-fitting, as a sentence or two.

#include <string>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

// True for auc, map, ndcg and their like; a loss or an error is the better the
// smaller it is. "ndcg@5" and "ndcg@5-" are "ndcg".
bool is_better_when_larger(std::string_view metric);

std::string loss_reading(const XgboostReport::Metric& metric);

}  // namespace smdebug
