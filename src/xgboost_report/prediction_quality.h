#pragma once

// How well predictions match labels: the classes that a classifier predicts,
// its confusion matrix, scores and ROC curve, and the errors of a regression.
// Definitions follow scikit-learn's functions of the same names.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

#include "xgboost_report/predictions.h"

namespace smdebug {

// More distinct values than this are not treated as classes.
inline constexpr std::size_t kMostClasses = 1000;

struct SampleClasses {
  std::vector<std::int64_t> truth;
  std::vector<std::int64_t> predicted;
  std::string cut;  // how predictions became classes: one sentence
};

// Returns the classes of `samples`. Several numbers per sample are the scores
// of classes 0, 1, ...: the first of the largest determines the class. One
// number of a multiclass model is the class. One number of a binary model is a
// probability, class 1 above 0.5; if any is outside of 0 to 1, it is a margin
// (binary:logitraw), class 1 above 0.
SampleClasses sample_classes(const Samples& samples, XgboostReport::Task task);

// Returns the class that `label` stands for: the nearest integer.
std::int64_t label_class(double label);

// Returns one number per sample of a binary model. Larger numbers make class 1
// more likely.
std::vector<double> positive_scores(const Samples& samples);

// Counts pairs of classes. `truth` and `predicted` have the same length. Sets
// `classes`, `counts` and `samples`; `counts` stays empty if there are more
// than `kMostClasses` classes.
XgboostReport::Confusion confusion_of(std::span<const std::int64_t> truth,
                                      std::span<const std::int64_t> predicted);

// Returns the accuracy, and the precision, recall and F1 score of each class
// and on average.
XgboostReport::Scores scores_of(const XgboostReport::Confusion& confusion);

// Returns the ROC curve of `scores`, with all members but `round`. The area is
// NaN if all samples are positive or all are negative.
XgboostReport::Roc roc_of(const std::vector<bool>& positive,
                          std::span<const double> scores);

// Returns prediction minus truth. `samples` has one number per prediction, and
// at least one sample.
XgboostReport::Residuals residuals_of(const Samples& samples);

// The mean absolute error for each bin of labels, over the rounds.
class BinnedErrorHistory {
 public:
  // Chooses the bins from those of `labels` that are shown.
  explicit BinnedErrorHistory(const std::vector<double>& labels);

  void add(const Samples& samples);
  XgboostReport::BinnedErrors result() const { return errors_; }

 private:
  XgboostReport::BinnedErrors errors_;
};

}  // namespace smdebug
