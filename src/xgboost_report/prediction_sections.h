#pragma once

// The sections that compare predictions with labels, from one pass over the
// saved rounds.

#include "smdebug/xgboost_report/xgboost_report.h"

#include "xgboost_report/predicted_classes.h"
#include "xgboost_report/saved_samples.h"

namespace smdebug {

// A run of more rounds is evaluated at so many of them, evenly spread and with
// the last one.
inline constexpr std::size_t kEvaluatedRounds = 200;

// Fills the sections of `report` from the confusion matrix on, by its task.
// What cannot be read is added to `left_out`.
void read_prediction_sections(SavedSamples& samples, XgboostReport& report);

}  // namespace smdebug
