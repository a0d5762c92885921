#pragma once

// The labels and predictions of an XGBoost run, paired sample by sample.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"
#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

// The samples of one round whose label and predictions are all shown.
struct Samples {
  Step round = 0;
  std::uint64_t left_out = 0;  // those that are not
  std::vector<double> labels;
  std::size_t columns = 1;          // numbers per prediction
  std::vector<double> predictions;  // row by row
};

class SavedSamples {
 public:
  explicit SavedSamples(Trial& trial);

  // Rounds that predictions were saved at, ascending.
  const std::vector<Step>& rounds() const { return rounds_; }
  // Rounds that labels were saved at.
  const std::vector<Step>& label_rounds() const { return label_rounds_; }

  // The labels of the newest round up to `round`, else of the first one: the
  // validation set stays as it is. Fails as `Tensor::value`, and with
  // `unsupported` for labels that are not one number per sample.
  Result<std::vector<double>> labels(Step round);

  // Fails as `labels`, and with `unsupported` where labels and predictions do
  // not go together.
  Result<Samples> at(Step round);

 private:
  Trial& trial_;
  std::vector<Step> rounds_;
  std::vector<Step> label_rounds_;
};

}  // namespace smdebug
