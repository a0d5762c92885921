#pragma once

// The texts in place of a section without data: the collection that is missing
// and how to save it, with `smdebug run` or with the hook of the script,
// whichever recorded the run.

#include <string>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

std::string hyperparameters_not_saved(const XgboostReport& report);
std::string labels_not_saved(const XgboostReport& report);
std::string metrics_not_saved(const XgboostReport& report);
std::string importance_not_saved(const XgboostReport& report);

// For the sections that compare predictions with labels.
std::string predictions_not_saved(const XgboostReport& report,
                                  bool has_predictions);

}  // namespace smdebug
