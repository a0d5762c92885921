#pragma once

// Labels and predictions of a classifier, read as classes and paired, and
// `ClassRule`, the base of the rules that compare the two.
//
// One row of a tensor is one sample. A row of one number is a class, rounded to
// the nearest integer (0.5 to 0, so probabilities above 0.5 are class 1). A row
// of several numbers contains class scores; its class is that of the largest.
// Tensors of more than two dimensions are not read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

// A class that cannot be read: NaN, or a label that losses ignore.
inline constexpr std::int64_t kNoClass = INT64_MIN;

// With more different values than this, a tensor does not contain classes, and
// a rule stops counting.
inline constexpr std::size_t kMaxClasses = 100'000;

struct ClassPair {
  const Observation* labels = nullptr;
  std::vector<std::int64_t> label;  // of each row
  // Null and empty if no tensor of the step matches these labels.
  const Observation* predictions = nullptr;
  std::vector<std::int64_t> predicted;
};

// Selects labels and predictions.
struct ClassSelectors {
  TensorSelector labels;
  TensorSelector predictions;
  // Whether to use the inputs of PyTorch's loss modules for steps without such
  // tensors.
  bool with_loss_inputs = true;

  std::vector<TensorSelector> list() const;
};

class ClassReader {
 public:
  // With `argmax`, one-dimensional predictions are the scores of one sample.
  explicit ClassReader(bool argmax = false) : argmax_(argmax) {}

  // Returns the labels of a step that `ClassSelectors::list` selected, each
  // paired with the predictions of the same worker that have as many rows.
  // Fails with `io`.
  Result<std::vector<ClassPair>> read(const RuleStep& step);

  // Returns the last reason why labels or predictions could not be used; empty
  // if there is none. For the verdict of a rule that judged nothing.
  const std::string& problem() const { return problem_; }

 private:
  using Classes = std::optional<std::vector<std::int64_t>>;
  struct Candidate;

  Result<Classes> read_labels(const Observation& labels);
  Result<Classes> read_predictions(const Observation& predictions);

  bool argmax_;
  std::string problem_;
};

class ClassRule : public Rule {
 public:
  RuleNeeds needs() const override;
  Outcome finish() override;

 protected:
  explicit ClassRule(ClassSelectors selectors, bool argmax = false)
      : selectors_(std::move(selectors)), reader_(argmax) {}

  Result<std::vector<ClassPair>> read(const RuleStep& step) {
    return reader_.read(step);
  }
  const std::string& problem() const { return reader_.problem(); }

  // Fails with `invalid_argument` if `tensor` has more than `kMaxClasses`
  // different values. `role`: "labels".
  static Status check_class_count(std::size_t classes, std::string_view role,
                                  const Observation& tensor);

  // Returns why the rule could not judge; empty if it could, or if the run has
  // no labels and predictions.
  virtual std::string reason_for_no_judgment() const = 0;

 private:
  ClassSelectors selectors_;
  ClassReader reader_;
};

}  // namespace smdebug
