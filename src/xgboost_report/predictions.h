#pragma once

// The labels and predictions of an XGBoost run, paired sample by sample, and
// the sections of the report that compare them.

#include <cstdint>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"
#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

// The samples of one round. All numbers are shown (`is_shown`).
struct Samples {
  Step round = 0;
  std::uint64_t left_out = 0;  // samples with numbers that are not shown
  std::vector<double> labels;
  std::size_t columns = 1;          // numbers per prediction
  std::vector<double> predictions;  // row by row
};

class SavedSamples {
 public:
  explicit SavedSamples(Trial& trial);

  // Rounds with predictions, ascending.
  const std::vector<Step>& rounds() const { return rounds_; }
  // Rounds with labels, ascending.
  const std::vector<Step>& label_rounds() const { return label_rounds_; }

  // Returns the labels of the last round up to `round`, or of the first round
  // if there is none: the validation set does not change during a training.
  // Fails as `Tensor::value` does, and with `unsupported` for labels that are
  // not one number per sample.
  Result<std::vector<double>> labels(Step round);

  // Fails as `labels` does, and with `unsupported` if the shapes of labels and
  // predictions do not match.
  Result<Samples> at(Step round);

 private:
  Trial& trial_;
  std::vector<Step> rounds_;
  std::vector<Step> label_rounds_;
};

// A run with more rounds is evaluated at this many of them, evenly spread and
// including the last one.
inline constexpr std::size_t kEvaluatedRounds = 200;

// Fills the sections of `report` that depend on predictions: the confusion
// matrix and those after it. Adds tensors that cannot be read to `left_out`.
void read_prediction_sections(SavedSamples& samples, XgboostReport& report);

}  // namespace smdebug
