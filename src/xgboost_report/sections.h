#pragma once

// The sections of the report of an XGBoost training, as HTML.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

// States the scope and the limits of the figures.
std::string_view disclaimer();

std::string run_section(const XgboostReport& report);
std::string labels_section(const XgboostReport::Labels& labels);
std::string metrics_section(const std::vector<XgboostReport::Metric>& metrics);
std::string importance_section(
    const std::vector<XgboostReport::Importance>& all);
std::string confusion_section(const XgboostReport::Confusion& confusion);
std::string scores_section(const XgboostReport::Scores& scores);
std::string class_accuracy_section(
    const XgboostReport::ClassAccuracy& accuracy);
std::string roc_section(const XgboostReport::Roc& roc);
std::string residuals_section(const XgboostReport::Residuals& residuals);
std::string binned_errors_section(const XgboostReport::BinnedErrors& errors);

}  // namespace smdebug
