#pragma once

// Classes out of labels and predictions of an XGBoost classifier.

#include <cstdint>
#include <string>
#include <vector>

#include "smdebug/xgboost_report/xgboost_report.h"

#include "xgboost_report/saved_samples.h"

namespace smdebug {

struct SampleClasses {
  std::vector<std::int64_t> truth;
  std::vector<std::int64_t> predicted;
  std::string cut;  // how: one sentence
};

// Several numbers per sample are scores of classes 0, 1, ...: the largest, the
// first of equals, is the class. One number of a multiclass model is the
// class. Of a binary model it is a probability, 1 above 0.5; or, where one
// lies outside of 0 to 1, a margin (binary:logitraw), 1 above 0.
SampleClasses sample_classes(const Samples& samples, XgboostReport::Task task);

// The class that a label says, to the nearest.
std::int64_t label_class(double label);

// Of a binary model: what a higher score makes more likely to be 1.
std::vector<double> positive_scores(const Samples& samples);

}  // namespace smdebug
