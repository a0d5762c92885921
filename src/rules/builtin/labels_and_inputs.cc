// LabelsAndInputs: the data of a training have a fault, or an unusual scale.
//
// The facts of a training have a summary of the inputs of its models and of the
// targets of its losses in the first saved steps. NaN and infinity are also
// searched in the data of the step in which a loss is not finite for the first
// time. The original has no such rule.
//
// An unusual scale, a rare class, or labels of one class of two may harm
// nothing: it becomes advice at the end of the training. The rule does not see
// data that a model makes itself, with PyTorch data in containers, targets of
// losses whose graph does not have them (see LossInput), nor the features of
// images and sequences one by one. A verdict without findings names the data
// that were not measured.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "smdebug/core/tensor_view.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "10",
     .description =
         "Number of saved steps whose labels and scale are judged together. "
         "Adapters measure at most 10.",
     .minimum = 1.0},
    {.name = "largest",
     .type = ParameterType::real,
     .default_text = "10",
     .description = "Largest mean, without sign, and standard deviation of "
                    "inputs with the shape (samples, features), and of the "
                    "targets of a regression.",
     .minimum = 0.0},
    {.name = "feature_ratio",
     .type = ParameterType::real,
     .default_text = "100",
     .description = "Largest ratio of the standard deviation of a feature to "
                    "the median of all features.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

enum class DataFault {
  inputs_not_finite,
  targets_not_finite,
  inputs_constant,
  evaluation_scaled,
  labels_sorted,
  one_class,
  one_of_two_classes,
  class_rare,
  features_differ,
  inputs_large,
  targets_large,
};

// In the order of `DataFault`.
const Advice kAdvice[] = {
    {.when = "inputs that are not finite",
     .cause = "missing values in the data, or a division by zero or a "
              "logarithm in their preparation",
     .advice = "search the data for NaN and infinity before the training, such "
               "as with numpy.isfinite, and drop or fill these rows",
     .severity = Severity::fatal},
    {.when = "targets that are not finite",
     .cause = "missing labels, or a division by zero or a logarithm in the "
              "preparation of the targets",
     .advice = "search the targets for NaN and infinity before the training, "
               "such as with numpy.isfinite, and drop the samples without a "
               "target",
     .severity = Severity::fatal},
    {.when = "constant inputs",
     .cause = "a loader or a transformation that returns the same number for "
              "every element, such as an empty buffer or a division by a very "
              "large number: the model cannot tell samples apart",
     .advice = "print a batch and its minimum and maximum where the loader "
               "returns it and before the model receives it"},
    {.when = "evaluation inputs of another scale",
     .cause = "a normalization that only the training or only the evaluation "
              "data pass: the model meets numbers that it was not trained on, "
              "and its results in the evaluation mean little",
     .advice = "apply the same normalization to both, with the mean and the "
               "standard deviation of the training data"},
    {.when = "sorted labels",
     .cause = "data that are sorted by class and not shuffled: the model "
              "learns one class and forgets it with the next",
     .advice = "shuffle the training data, for example with shuffle=True for "
               "the loader"},
    {.when = "labels of one class",
     .cause = "data that are sorted by class and not shuffled, or a mistake "
              "that makes all labels the same",
     .advice = "count the labels of the training data, and shuffle the data"},
    {.when = "labels of one class of two",
     .cause = "a class that is very rare, data that are sorted by class and "
              "not shuffled, or a mistake that makes all labels the same",
     .advice = "count the labels of the training data, and shuffle the data",
     .severity = Severity::advice},
    {.when = "a rare class",
     .cause = "a data set with rare classes, or a sampler that prefers some: "
              "the model becomes biased toward the large classes, and the "
              "accuracy over all samples hides it",
     .advice = "look at the accuracy of each class, sample the small classes "
               "more often, or weight the loss by class",
     .severity = Severity::advice},
    {.when = "features of different scales",
     .cause = "features in their own units: those with large numbers outweigh "
              "the others and limit the learning rate",
     .advice = "standardize each feature with its mean and standard deviation "
               "in the training data",
     .severity = Severity::advice},
    {.when = "large inputs",
     .cause = "inputs that are not scaled: the first layer gets large "
              "gradients and saturates what follows it",
     .advice = "scale the inputs to a mean near 0 and a standard deviation "
               "near 1",
     .severity = Severity::advice},
    {.when = "large targets",
     .cause = "targets in their own unit: the first losses and gradients are "
              "large, and the last layer must grow to reach the targets",
     .advice = "standardize the targets, and transform the predictions back",
     .severity = Severity::advice},
};

struct Thresholds {
  std::uint64_t num_steps = 0;
  double largest = 0;
  double feature_ratio = 0;
};

bool is_of_labels(DataFault fault) {
  return fault == DataFault::labels_sorted || fault == DataFault::one_class ||
         fault == DataFault::one_of_two_classes ||
         fault == DataFault::class_rare;
}

// A fault with its measure.
struct Found {
  DataFault fault;
  std::string message;  // continues the name of the tensor
  std::string quantity;
  double value = 0;
  double threshold = 0;
  std::string_view relation = ">";
};

// With fewer, labels of one class may be chance.
constexpr std::uint64_t kFewestLabels = 100;
// A class with this share of the labels of the largest one is rare. With more
// classes, or with several labels per sample, rare ones are usual: words,
// characters and pixels are of such sizes.
constexpr double kRareShare = 0.1;
constexpr std::uint64_t kMostClasses = 20;
// Labels by which the count of a rare class may be too low by chance.
constexpr std::uint64_t kChanceLabels = 2;
// The share of the labels' diversity between the steps that shows that labels
// are sorted. Of labels in random order it is near 0.
constexpr double kSortedOrder = 0.4;

// The labels of a step: the elements of the loss's input without the classes.
std::int64_t labels_per_step(const LossInputFacts& loss) {
  const std::int64_t elements = element_count(loss.shape);
  const bool has_classes = !loss.function.starts_with("binary");
  if (!has_classes || loss.shape.empty()) return elements;
  if (loss.shape.size() == 1) return 1;
  return elements / std::max<std::int64_t>(loss.shape[1], 1);
}

// Whether the inputs have fewer samples than there are labels, as those of a
// model of a language do. The first dimension of one of several inputs need not
// be that of the samples.
bool has_several_per_sample(const LossInputFacts& loss,
                            const std::vector<DataFacts>& inputs) {
  std::int64_t samples = 0;
  for (const DataFacts& input : inputs) {
    if (!input.shape.empty()) samples = std::max(samples, input.shape[0]);
  }
  if (samples == 0 && !loss.shape.empty()) samples = loss.shape[0];
  return samples > 0 && labels_per_step(loss) >= 2 * samples;
}

std::optional<Found> rare_class_fault(const DataFacts& labels) {
  const double largest = static_cast<double>(labels.largest_class);
  const double allowed = kRareShare * largest;
  if (labels.smallest_class == 0 || labels.classes > kMostClasses ||
      static_cast<double>(labels.smallest_class + kChanceLabels) > allowed) {
    return std::nullopt;
  }
  return Found{
      DataFault::class_rare,
      fmt::format("of {} labels in {}, the most frequent class has {} "
                  "and the least frequent of {} has {}",
                  labels.labels, count_text(labels.steps, "saved step"),
                  labels.largest_class, labels.classes, labels.smallest_class),
      "labels of the smallest class per label of the largest",
      static_cast<double>(labels.smallest_class) / largest,
      kRareShare,
      "<"};
}

// Those that the model distinguishes.
std::int64_t classes_of(const LossInputFacts& loss) {
  if (loss.shape.empty()) return 0;
  return std::max<std::int64_t>(loss.shape.back(), 2);
}

std::optional<Found> label_fault(const LossInputFacts& loss,
                                 const std::vector<DataFacts>& inputs) {
  const DataFacts& labels = *loss.targets;
  const std::int64_t classes = classes_of(loss);
  if (labels.labels < kFewestLabels) return std::nullopt;
  if (labels.classes == 1) {
    return Found{
        classes > 2 ? DataFault::one_class : DataFault::one_of_two_classes,
        fmt::format("all {} labels of {} are of one class of {}", labels.labels,
                    count_text(labels.steps, "saved step"), classes),
        "different labels",
        1,
        2,
        "<"};
  }
  const double order = labels.label_order.value_or(0);
  if (order < kSortedOrder) {
    return has_several_per_sample(loss, inputs) ? std::nullopt
                                                : rare_class_fault(labels);
  }
  return Found{
      DataFault::labels_sorted,
      fmt::format("the labels of a step are alike and differ from those of "
                  "other steps: {:.0f} % of the diversity of {} labels lies "
                  "between {}, of labels in random order near 0 %",
                  100 * order, labels.labels,
                  count_text(labels.steps, "saved step")),
      "share of the diversity between steps",
      order,
      kSortedOrder,
      ">="};
}

// Whether the first layer scales the inputs itself, or may do so.
bool is_scaled_by(std::string_view layer) {
  static constexpr std::string_view kScaling[] = {
      "Norm", "Embedding", "Rescaling", "Lambda", "Divide", "Multiply"};
  return std::ranges::any_of(kScaling, [&](std::string_view part) {
    return layer.find(part) != layer.npos;
  });
}

std::optional<Found> scale_fault(const DataFacts& data, DataFault fault,
                                 const Thresholds& thresholds) {
  if (!data.mean || !data.deviation) return std::nullopt;
  const bool is_mean = std::abs(*data.mean) > *data.deviation;
  const double value = is_mean ? std::abs(*data.mean) : *data.deviation;
  if (!(value > thresholds.largest)) return std::nullopt;
  return Found{
      fault,
      fmt::format("the {} have the mean {:.4g} and the standard "
                  "deviation {:.4g}, in {}",
                  fault == DataFault::targets_large ? "targets" : "inputs",
                  *data.mean, *data.deviation,
                  count_text(data.steps, "saved step")),
      is_mean ? "mean without sign" : "standard deviation", value,
      thresholds.largest};
}

// Whether the layer that receives an input of features is unknown. It may scale
// them.
bool has_unknown_scale(const DataFacts& input) {
  return input.shape.size() == 2 && input.deviation &&
         input.received_by.empty();
}

std::optional<Found> input_fault(const DataFacts& input,
                                 const Thresholds& thresholds) {
  if (input.shape.size() != 2 || has_unknown_scale(input) ||
      is_scaled_by(input.received_by))
    return std::nullopt;
  const auto& median = input.median_feature_deviation;
  const auto& largest = input.largest_feature_deviation;
  // Small numbers of any ratio harm nothing.
  if (median && largest && *largest > 1 &&
      *largest > thresholds.feature_ratio * *median) {
    return Found{
        DataFault::features_differ,
        fmt::format("the standard deviation of a feature is {:.4g}, and the "
                    "median over all features is {:.4g}, in {}",
                    *largest, *median, count_text(input.steps, "saved step")),
        "ratio of the largest deviation to the median", *largest / *median,
        thresholds.feature_ratio};
  }
  return scale_fault(input, DataFault::inputs_large, thresholds);
}

// Whether the models receive numbers, and all of them are the same one. An
// input of another kind, such as indices, may tell the samples apart.
bool are_constant(const std::vector<DataFacts>& inputs) {
  return !inputs.empty() &&
         std::ranges::all_of(inputs, [](const DataFacts& input) {
           return input.deviation && *input.deviation == 0;
         });
}

bool is_regression(const LossInputFacts& loss) {
  return loss.function == "mse_loss" || loss.function == "l1_loss" ||
         loss.function == "smooth_l1_loss" || loss.function == "huber_loss";
}

std::optional<Found> target_fault(const LossInputFacts& loss,
                                  const std::vector<DataFacts>& inputs,
                                  const Thresholds& thresholds) {
  const DataFacts& targets = *loss.targets;
  if (targets.labels > 0) return label_fault(loss, inputs);
  if (!is_regression(loss)) return std::nullopt;
  return scale_fault(targets, DataFault::targets_large, thresholds);
}

Found not_finite(const DataFacts& data, DataFault fault) {
  return {
      fault,
      fmt::format("the {} contain NaN or infinity at global step {}",
                  fault == DataFault::inputs_not_finite ? "inputs" : "targets",
                  *data.not_finite),
      "step with NaN or infinity", static_cast<double>(*data.not_finite), 0};
}

Found constant(const DataFacts& input) {
  return {DataFault::inputs_constant,
          fmt::format("every element of the inputs is {:.4g}, in {}",
                      input.mean.value_or(0),
                      count_text(input.steps, "saved step")),
          "standard deviation",
          0,
          0,
          "<="};
}

// Fewer elements, or a training that was measured in fewer steps, may differ by
// chance.
constexpr std::int64_t kFewestElements = 200;
constexpr std::uint64_t kFewestTrainingSteps = 5;
// Standard deviations with this ratio are of different scales, and so are means
// that lie so many standard deviations apart.
constexpr double kOtherScale = 3;
// A lower ratio is enough if the data are otherwise the same: if the range has
// this ratio as well, and the mean lies at the same place in it.
constexpr double kOtherRange = 1.5, kSameRatio = 1.2, kSamePlace = 0.1;
// Of features, the median of their deviations must differ as well: a few large
// numbers of one feature change the deviation of all.
constexpr double kOtherMedian = 1.5;

double ratio_of(double one, double other) {
  return std::max(one, other) / std::min(one, other);
}

bool has_same_shape_of_values(const DataFacts& one, const DataFacts& other,
                              double ratio) {
  if (!one.low || !one.high || !other.low || !other.high) return false;
  const double range = *one.high - *one.low;
  const double other_range = *other.high - *other.low;
  if (!(range > 0) || !(other_range > 0)) return false;
  const double place = (*one.mean - *one.low) / range;
  const double other_place = (*other.mean - *other.low) / other_range;
  return ratio_of(ratio_of(range, other_range), ratio) < kSameRatio &&
         std::abs(place - other_place) < kSamePlace;
}

bool has_other_features(const DataFacts& one, const DataFacts& other) {
  const auto& median = one.median_feature_deviation;
  const auto& other_median = other.median_feature_deviation;
  return !median || !other_median ||
         ratio_of(*median, *other_median) > kOtherMedian;
}

// Whether an input has another scale in the evaluation than in the training.
std::optional<Found> evaluation_fault(const DataFacts& training,
                                      const DataFacts& evaluation) {
  const bool is_known = training.deviation && *training.deviation > 0 &&
                        evaluation.deviation && *evaluation.deviation > 0 &&
                        training.shape.size() == evaluation.shape.size() &&
                        training.steps >= kFewestTrainingSteps &&
                        element_count(training.shape) >= kFewestElements &&
                        element_count(evaluation.shape) >= kFewestElements;
  if (!is_known) return std::nullopt;
  const double ratio = ratio_of(*training.deviation, *evaluation.deviation);
  const double distance = std::abs(*training.mean - *evaluation.mean) /
                          std::min(*training.deviation, *evaluation.deviation);
  const bool differs =
      (ratio >= kOtherScale && has_other_features(training, evaluation)) ||
      (ratio >= kOtherRange &&
       has_same_shape_of_values(training, evaluation, ratio)) ||
      distance >= kOtherScale;
  if (!differs) return std::nullopt;
  const bool is_mean = distance >= ratio;
  return Found{
      DataFault::evaluation_scaled,
      fmt::format("the inputs have the mean {:.4g} and the standard deviation "
                  "{:.4g} in the evaluation, and {:.4g} and {:.4g} in the "
                  "training",
                  *evaluation.mean, *evaluation.deviation, *training.mean,
                  *training.deviation),
      is_mean ? "distance of the means in standard deviations"
              : "ratio of the standard deviations",
      is_mean ? distance : ratio,
      is_mean ? kOtherScale : kOtherRange,
      ">="};
}

// Whether there is something to judge: of other data, such as indices, only the
// form is known.
bool has_numbers(const DataFacts& data) {
  return data.deviation || data.labels > 0;
}

// Whether the labels are those of all rows: the loss is an objective of
// XGBoost, such as "binary:logistic", which sees them in each round.
bool has_all_rows(const LossInputFacts& loss) {
  return loss.function.find(':') != std::string::npos;
}

// The tensors of which something is unknown, for a message.
class UnknownData {
 public:
  UnknownData(const RunFacts& facts, std::uint64_t num_steps)
      : num_steps_(num_steps) {
    for (const DataFacts& input : facts.inputs) {
      add(input, input.tensor);
      if (has_unknown_scale(input)) unscaled_.push_back(input.tensor);
    }
    for (const LossFacts& loss : facts.losses) {
      const std::string name = "the targets of " + loss.tensor;
      if (loss.input && loss.input->targets) {
        if (!has_all_rows(*loss.input)) add(*loss.input->targets, name);
      } else {
        unmeasured_.push_back(name);
      }
    }
    if (facts.inputs.empty()) unmeasured_.emplace_back("the inputs");
    if (facts.losses.empty()) unmeasured_.emplace_back("the targets");
  }

  // "the inputs: not measured; ..."; empty if all is known.
  std::string text() const {
    std::vector<std::string> parts;
    const auto add_part = [&](const std::vector<std::string>& names,
                              std::string_view what) {
      if (!names.empty())
        parts.push_back(fmt::format("{}: {}", names_text(names), what));
    };
    add_part(unmeasured_, "not measured");
    add_part(young_,
             fmt::format("measured in fewer saved steps than num_steps={}",
                         num_steps_));
    add_part(unscaled_, "its scale, because the first layer is unknown");
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  void add(const DataFacts& data, const std::string& name) {
    if (data.steps == 0) {
      unmeasured_.push_back(name);
    } else if (has_numbers(data) && data.steps < num_steps_) {
      young_.push_back(name);
    }
  }

  std::uint64_t num_steps_;
  std::vector<std::string> unmeasured_;
  std::vector<std::string> young_;
  std::vector<std::string> unscaled_;
};

class LabelsAndInputs : public FactsRule {
 public:
  explicit LabelsAndInputs(const Parameters& parameters) {
    thresholds_.num_steps =
        static_cast<std::uint64_t>(parameters.integer("num_steps"));
    thresholds_.largest = parameters.real("largest");
    thresholds_.feature_ratio = parameters.real("feature_ratio");
  }

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    if (advice_) return advice_;
    if (has_judged()) return no_finding();
    if (most_steps_ == 0) {
      const std::string missing = not_judged();
      return Error{
          Error::Code::unsupported,
          fmt::format("nothing to judge: the data of the training are unknown"
                      "{}{}{}; hooks for PyTorch, Keras and MXNet measure the "
                      "inputs of models and the targets of losses in the first "
                      "saved steps",
                      missing.empty() ? "" : " (", missing,
                      missing.empty() ? "" : ")")};
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: the data were measured in {}, "
                             "num_steps={} are needed",
                             count_text(most_steps_, "saved step"),
                             thresholds_.num_steps)};
  }

  std::string not_judged() const override {
    for (const auto& [worker, missing] : missing_) {
      if (!missing.empty()) return missing;
    }
    return "";
  }

 private:
  // Returns what cannot be meant, and keeps advice for the end.
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    missing_[std::string(worker)] =
        UnknownData(facts, thresholds_.num_steps).text();
    for (const DataFacts& input : facts.inputs) {
      if (input.not_finite) {
        return describe(not_finite(input, DataFault::inputs_not_finite),
                        input.tensor, worker);
      }
      if (!is_measured(input)) continue;
      if (are_constant(facts.inputs)) {
        return describe(constant(input), input.tensor, worker);
      }
      if (auto found =
              take(input_fault(input, thresholds_), input.tensor, worker)) {
        return found;
      }
    }
    for (const DataFacts& evaluation : facts.evaluation_inputs) {
      const auto training = std::ranges::find(facts.inputs, evaluation.tensor,
                                              &DataFacts::tensor);
      if (training == facts.inputs.end()) continue;
      if (auto found = take(evaluation_fault(*training, evaluation),
                            evaluation.tensor, worker)) {
        return found;
      }
    }
    for (const LossFacts& loss : facts.losses) {
      if (!loss.input || !loss.input->targets) continue;
      const DataFacts& targets = *loss.input->targets;
      if (targets.not_finite) {
        return describe(not_finite(targets, DataFault::targets_not_finite),
                        loss.tensor, worker);
      }
      if (!is_measured(targets, has_all_rows(*loss.input))) continue;
      if (auto found =
              take(target_fault(*loss.input, facts.inputs, thresholds_),
                   loss.tensor, worker)) {
        return found;
      }
    }
    return std::nullopt;
  }

  bool is_measured(const DataFacts& data, bool is_complete = false) {
    if (!has_numbers(data)) return false;
    most_steps_ = std::max(most_steps_, data.steps);
    if (data.steps < thresholds_.num_steps && !is_complete) return false;
    count_judged();
    return true;
  }

  std::optional<Finding> take(const std::optional<Found>& found,
                              const std::string& tensor,
                              std::string_view worker) {
    if (!found) return std::nullopt;
    Finding finding = describe(*found, tensor, worker);
    if (finding.severity != Severity::advice) return finding;
    if (!advice_) advice_ = std::move(finding);
    return std::nullopt;
  }

  Finding describe(const Found& found, const std::string& tensor,
                   std::string_view worker) const {
    Finding finding;
    finding.message = fmt::format(
        "{}{}: {}", is_of_labels(found.fault) ? "the labels of " : "",
        tensor_text(tensor, worker), found.message);
    set_advice(finding, kAdvice[static_cast<std::size_t>(found.fault)]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = tensor;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = found.quantity;
    evidence.value = found.value;
    evidence.relation = found.relation;
    evidence.threshold = found.threshold;
    return finding;
  }

  Thresholds thresholds_;
  std::map<std::string, std::string, std::less<>> missing_;  // by worker
  std::uint64_t most_steps_ = 0;  // in which data were measured
  std::optional<Finding> advice_;
};

}  // namespace

const RuleFactory kLabelsAndInputs = {
    .name = "LabelsAndInputs",
    .summary = "The data of a training have a fault, or an unusual scale.",
    .condition =
        "Fires when an input of a model or a target of a loss is NaN or "
        "infinite. Fires after 'num_steps' saved steps if all elements of all "
        "inputs are equal, if at least 40 % of the diversity of the class "
        "labels lies between the steps, or if all labels are of one class. "
        "Fires if the inputs of an evaluation "
        "have another scale than those of the training: if one standard "
        "deviation is at least three times the other, if one is 1.5 times the "
        "other and the data have the same form, or if the means are three "
        "standard deviations apart. Advises at the end of the training if a "
        "class of at most 20 has less than a tenth of the labels of the "
        "largest one and a sample has one label, if the standard deviation of "
        "a feature is more than "
        "'feature_ratio' times the median of all features, or if the mean or "
        "the standard deviation of inputs or of the targets of a regression "
        "exceeds 'largest'.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make_rule<LabelsAndInputs>,
};

}  // namespace smdebug
