#pragma once

// How good a classifier is: confusion matrix, scores, ROC curve. Plain numbers
// in, plain numbers out, with the meaning of scikit-learn's functions of the
// same names.

#include <cstdint>
#include <span>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

namespace smdebug {

// More classes than this make no matrix.
inline constexpr std::size_t kMostClasses = 1000;

// Counts pairs of classes. `truth` and `predicted` are equally long. Sets
// `classes`, `counts` and `samples`; of more than `kMostClasses` classes,
// `counts` stays empty.
XgboostReport::Confusion confusion_of(std::span<const std::int64_t> truth,
                                      std::span<const std::int64_t> predicted);

// Accuracy, and precision, recall and F1 of each class and on average.
XgboostReport::Scores scores_of(const XgboostReport::Confusion& confusion);

// The curve of `scores` against labels that are positive or not. Sets all but
// `round`. Without a positive or without a negative sample the area is NaN.
XgboostReport::Roc roc_of(const std::vector<bool>& positive,
                          std::span<const double> scores);

}  // namespace smdebug
