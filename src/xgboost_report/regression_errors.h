#pragma once

// How far a regression's predictions are from the truth.

#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

#include "xgboost_report/saved_samples.h"

namespace smdebug {

// Prediction minus truth, of samples with one number each; at least one.
XgboostReport::Residuals residuals_of(const Samples& samples);

// The mean absolute error of each bin of labels, round by round.
class ErrorCourse {
 public:
  // The bins are of these labels, as far as they are shown.
  explicit ErrorCourse(const std::vector<double>& labels);

  void add(const Samples& samples);
  XgboostReport::BinnedErrors result() const { return errors_; }

 private:
  XgboostReport::BinnedErrors errors_;
};

}  // namespace smdebug
