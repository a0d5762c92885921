#pragma once

// Labels and predictions of a classifier, read as classes and paired. Used by
// the rules that compare the two.
//
// One row of a tensor is one sample. A row of one number is a class, rounded
// to the nearest (0.5 to 0, so a probability is cut behind 0.5); a row of
// several numbers are the scores of the classes, and the class is that of the
// largest. Tensors of more than two dimensions are neither.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

// A class that could not be read (NaN, or a label that losses ignore).
inline constexpr std::int64_t kNoClass = INT64_MIN;

// More classes than this are no classes: a rule gives up rather than counting
// for ever.
inline constexpr std::size_t kMaxClasses = 100'000;

struct ClassPair {
  const Observation* labels = nullptr;
  std::vector<std::int64_t> label;  // of each row
  // Null and empty where nothing of the step goes with these labels.
  const Observation* predictions = nullptr;
  std::vector<std::int64_t> predicted;
};

// Where labels and predictions are found.
struct ClassSelectors {
  TensorSelector labels;
  TensorSelector predictions;
  // Whether the inputs of PyTorch's loss modules are taken where a step has no
  // tensor of the other two.
  bool with_loss_inputs = true;

  std::vector<TensorSelector> list() const;
};

class ClassReader {
 public:
  // With `argmax`, predictions of one dimension, too, are scores of classes.
  explicit ClassReader(bool argmax = false) : argmax_(argmax) {}

  // Returns the labels of a step that was selected by `ClassSelectors::list`,
  // each paired with the predictions of the same worker that have as many
  // rows. Fails with `io`.
  Result<std::vector<ClassPair>> read(const RuleStep& step);

  // Why labels or predictions could not be used, the last time; empty: all
  // could. For the verdict of a rule that judged nothing.
  const std::string& problem() const { return problem_; }

 private:
  using Classes = std::optional<std::vector<std::int64_t>>;
  struct Candidate;

  Result<Classes> read_labels(const Observation& labels);
  Result<Classes> read_predictions(const Observation& predictions);

  bool argmax_;
  std::string problem_;
};

}  // namespace smdebug
