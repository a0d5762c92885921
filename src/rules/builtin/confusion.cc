// Confusion: too few predictions of a class are right, or too many of them
// belong to one other class.
//
//   M[i][i] / S_i < min_diag, or M[j][i] / S_i > max_off_diag for some j != i
//
// M[j][i] counts the samples of label j that were predicted as i, and S_i is
// the sum of M[j][i] over j. The documents divide the diagonal by its own sum,
// which would fire for any two classes.
//
// The documents leave the rest open. The matrix is that of one step unless
// `cumulative`. A class that was never predicted is not judged. Classes outside
// [0, category_no) are ignored. rules/measures/class_labels.h turns rows into
// classes.
//
// `samples` and `patience` are additions for small batches and for the start of
// a training. A class is judged once it was predicted `samples` times. The rule
// fires after `patience` judged steps in a row beyond a limit whose worst entry
// did not improve. A step without a class to judge is ignored.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/class_labels.h"

namespace smdebug {
namespace {

constexpr std::string_view kLabelsName = "labels";
constexpr std::string_view kPredictionsName = "predictions";

const ParameterSpec kConfusionParameters[] = {
    {.name = "category_no",
     .type = ParameterType::integer,
     .default_text = "",
     .description = "Number of classes; default: as many as labels and "
                    "predictions contain.",
     .minimum = 2.0},
    {.name = "labels",
     .type = ParameterType::text,
     .default_text = kLabelsName,
     .description = "Name of the tensor with the labels."},
    {.name = "predictions",
     .type = ParameterType::text,
     .default_text = kPredictionsName,
     .description = "Name of the tensor with the predictions."},
    {.name = "labels_collection",
     .type = ParameterType::text,
     .default_text = kLabelsName,
     .description = "Collection of further tensors with labels."},
    {.name = "predictions_collection",
     .type = ParameterType::text,
     .default_text = kPredictionsName,
     .description = "Collection of further tensors with predictions."},
    {.name = "min_diag",
     .type = ParameterType::real,
     .default_text = "0.9",
     .description = "Smallest allowed share of correct predictions of a class.",
     .minimum = 0.0,
     .maximum = 1.0,
     .tuned_text = "0.65"},
    {.name = "max_off_diag",
     .type = ParameterType::real,
     .default_text = "0.1",
     .description = "Largest allowed share of the predictions of a class that "
                    "belong to one other class.",
     .minimum = 0.0,
     .maximum = 1.0,
     .tuned_text = "0.35"},
    {.name = "cumulative",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether the matrix accumulates over all steps instead of "
                    "starting over at each step."},
    {.name = "samples",
     .type = ParameterType::integer,
     .default_text = "1",
     .description = "Number of predictions of a class required before the "
                    "class is judged.",
     .minimum = 1.0,
     .tuned_text = "15"},
    {.name = "patience",
     .type = ParameterType::integer,
     .default_text = "1",
     .description = "Number of consecutive judged steps beyond a limit, "
                    "without improvement, after which the rule fires.",
     .minimum = 1.0,
     .tuned_text = "7"},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kConfusionAdvice[] = {
    {.cause = "classes that look alike to the model, wrong labels, or a model "
              "that has not learned them yet",
     .advice = "inspect the confused samples, check their labels, and add "
               "samples or features that separate them; early in a training "
               "this is normal: set start_step or patience"},
};

// A pattern that finds this name and no other.
std::string exactly(std::string_view name) {
  std::string pattern = "^";
  for (const char c : name) {
    const bool is_punctuation =
        c > ' ' && c < 0x7f && !(c >= '0' && c <= '9') &&
        !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && c != '_';
    if (is_punctuation) pattern += '\\';
    pattern += c;
  }
  return pattern + "\\Z";
}

ClassSelectors confusion_selectors_of(const Parameters& parameters) {
  ClassSelectors selectors;
  selectors.labels.regexes = {exactly(parameters.text("labels"))};
  selectors.labels.collections = {parameters.text("labels_collection")};
  selectors.predictions.regexes = {exactly(parameters.text("predictions"))};
  selectors.predictions.collections = {
      parameters.text("predictions_collection")};
  selectors.with_loss_inputs =
      parameters.text("labels") == kLabelsName &&
      parameters.text("labels_collection") == kLabelsName &&
      parameters.text("predictions") == kPredictionsName &&
      parameters.text("predictions_collection") == kPredictionsName;
  return selectors;
}

// The confusion matrix: predictions by class and label.
class Matrix {
 public:
  struct Column {
    std::map<std::int64_t, std::uint64_t> counts;  // by label
    std::uint64_t sum = 0;
  };

  void add(std::int64_t label, std::int64_t predicted) {
    Column& column = columns_[predicted];
    ++column.counts[label];
    ++column.sum;
  }
  void clear() { columns_.clear(); }
  std::size_t predicted_classes() const { return columns_.size(); }
  bool has_class_predicted(std::uint64_t times) const {
    return std::ranges::any_of(columns_, [&](const auto& column) {
      return column.second.sum >= times;
    });
  }
  const std::map<std::int64_t, Column>& columns() const { return columns_; }

 private:
  std::map<std::int64_t, Column> columns_;  // by predicted class
};

// An entry of the matrix that is too small or too large.
struct Violation {
  std::int64_t predicted = 0;
  std::int64_t label = 0;
  std::uint64_t count = 0;
  std::uint64_t of = 0;  // predictions of the class
  double share = 0;
  double beyond = 0;  // the threshold

  bool is_on_diagonal() const { return predicted == label; }
};

// Consecutive judged steps beyond a limit. A smaller worst violation shows that
// the model learns, so the count restarts.
class ViolatingSteps {
 public:
  void add(const StepId& step, double worst) {
    if (count_ > 0 && worst >= lowest_) {
      ++count_;
      return;
    }
    count_ = 1;
    lowest_ = worst;
    lowest_at_ = step;
  }
  void clear() { count_ = 0; }

  std::int64_t count() const { return count_; }
  // The step with the smallest worst violation.
  const StepId& lowest_at() const { return lowest_at_; }

 private:
  std::int64_t count_ = 0;
  double lowest_ = 0;
  StepId lowest_at_;
};

class Confusion : public ClassRule {
 public:
  explicit Confusion(const Parameters& parameters)
      : ClassRule(confusion_selectors_of(parameters)),
        min_diag_(parameters.real("min_diag")),
        max_off_diag_(parameters.real("max_off_diag")),
        is_cumulative_(parameters.boolean("cumulative")),
        samples_(static_cast<std::uint64_t>(parameters.integer("samples"))),
        patience_(parameters.integer("patience")) {
    if (parameters.has("category_no")) {
      categories_ = parameters.integer("category_no");
    }
  }

  Outcome on_step(const RuleStep& step) override {
    SMD_TRY(const auto pairs, read(step));
    if (!is_cumulative_) matrix_.clear();
    const Observation* predictions = nullptr;
    std::uint64_t added = 0;
    for (const ClassPair& pair : pairs) {
      if (pair.predictions == nullptr) continue;
      if (!add(pair)) continue;
      if (predictions == nullptr) predictions = pair.predictions;
      added += 2;
    }
    if (predictions == nullptr) return no_finding();
    SMD_CHECK_OK(check_class_count(matrix_.predicted_classes(), "predictions",
                                   *predictions));
    if (!matrix_.has_class_predicted(samples_)) {
      ++steps_of_few_samples_;
      return no_finding();
    }
    count_judged(added);
    ++judged_steps_;
    return judge(evidence_of(*predictions, step.step));
  }

 private:
  std::string reason_for_no_judgment() const override {
    if (judged_steps_ >= patience_) return "";
    if (has_judged()) {
      return too_few_text(static_cast<std::uint64_t>(judged_steps_),
                          "judged step", static_cast<std::uint64_t>(patience_));
    }
    if (steps_of_few_samples_ > 0) {
      return fmt::format(
          "at {} steps with labels and predictions, no class was predicted {} "
          "times (parameter 'samples')",
          steps_of_few_samples_, samples_);
    }
    if (left_out_ > 0) {
      return fmt::format(
          "none of {} samples has a label and a prediction within the classes "
          "0 {}",
          left_out_,
          categories_ ? fmt::format("to {}", *categories_ - 1) : "or above");
    }
    return problem();
  }

  std::optional<Finding> judge(const Evidence& place) {
    const auto violations = find_violations();
    if (violations.empty()) {
      violating_.clear();
      return std::nullopt;
    }
    violating_.add(place.step, violations.front().beyond);
    if (violating_.count() < patience_) return std::nullopt;
    return describe(violations, place);
  }

  bool is_category(std::int64_t value) const {
    return value >= 0 && (!categories_ || value < *categories_);
  }

  // Returns whether any sample was added.
  bool add(const ClassPair& pair) {
    bool is_added = false;
    for (std::size_t i = 0; i < pair.label.size(); ++i) {
      if (!is_category(pair.label[i]) || !is_category(pair.predicted[i])) {
        ++left_out_;
        continue;
      }
      matrix_.add(pair.label[i], pair.predicted[i]);
      is_added = true;
    }
    return is_added;
  }

  std::vector<Violation> find_violations() const {
    std::vector<Violation> found;
    for (const auto& [predicted, column] : matrix_.columns()) {
      if (column.sum < samples_) continue;
      const auto right = column.counts.find(predicted);
      check(predicted, predicted,
            right == column.counts.end() ? 0 : right->second, column.sum,
            found);
      for (const auto& [label, count] : column.counts) {
        if (label != predicted) {
          check(predicted, label, count, column.sum, found);
        }
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &Violation::beyond);
    return found;
  }

  void check(std::int64_t predicted, std::int64_t label, std::uint64_t count,
             std::uint64_t sum, std::vector<Violation>& found) const {
    const double share = static_cast<double>(count) / static_cast<double>(sum);
    const double beyond =
        label == predicted ? min_diag_ - share : share - max_off_diag_;
    if (beyond > 0)
      found.push_back({predicted, label, count, sum, share, beyond});
  }

  Finding describe(const std::vector<Violation>& violations,
                   const Evidence& place) const {
    Finding finding;
    for (const Violation& violation : violations) {
      Evidence evidence = place;
      evidence.quantity =
          fmt::format("share of the predictions of class {} that are class {}",
                      violation.predicted, violation.label);
      evidence.value = violation.share;
      evidence.relation = violation.is_on_diagonal() ? "<" : ">";
      evidence.threshold =
          violation.is_on_diagonal() ? min_diag_ : max_off_diag_;
      finding.evidence.push_back(std::move(evidence));
    }
    const Violation& worst = violations.front();
    const std::string bound =
        worst.is_on_diagonal()
            ? fmt::format("required: at least {}", min_diag_)
            : fmt::format("allowed: up to {}", max_off_diag_);
    finding.message = fmt::format(
        "{}: {} of {} predictions of class {} are {} {}, {:.3g} ({}), at {}{}",
        tensor_text(place.tensor, place.worker), worst.count, worst.of,
        worst.predicted,
        worst.is_on_diagonal() ? "right, class" : "wrong, class", worst.label,
        worst.share, bound, step_text(place.step),
        is_cumulative_ ? ", counted over all steps" : "");
    if (violations.size() > 1) {
      finding.message += fmt::format(
          "; {} entries of the confusion matrix of {} predicted "
          "classes are beyond their limit",
          violations.size(), matrix_.predicted_classes());
    }
    if (patience_ > 1) {
      finding.message += fmt::format(
          "; the same holds for {} judged steps in a row, without improvement "
          "since {}",
          violating_.count(), step_text(violating_.lowest_at()));
    }
    set_advice(finding, kConfusionAdvice[0]);
    return finding;
  }

  double min_diag_;
  double max_off_diag_;
  bool is_cumulative_;
  std::uint64_t samples_;  // of a class that is judged
  std::int64_t patience_;
  std::optional<std::int64_t> categories_;
  Matrix matrix_;
  ViolatingSteps violating_;
  std::int64_t judged_steps_ = 0;
  std::uint64_t left_out_ = 0;  // samples
  std::uint64_t steps_of_few_samples_ = 0;
};

}  // namespace

const RuleFactory kConfusion = {
    .name = "Confusion",
    .summary = "The model confuses classes too often.",
    .condition =
        "Fires when, of the predictions of a class with at least 'samples' of "
        "them, less than 'min_diag' are right or more than 'max_off_diag' "
        "belong to one other class, at 'patience' judged steps in a row "
        "without improvement.",
    .advice = kConfusionAdvice,
    .parameters = kConfusionParameters,
    .make = make_rule<Confusion>,
};

}  // namespace smdebug
