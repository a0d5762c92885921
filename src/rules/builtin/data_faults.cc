#include "rules/builtin/data_faults.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "smdebug/core/tensor_view.h"

#include "base/strings.h"

namespace smdebug {
namespace {

// With fewer, labels of one class may be chance.
constexpr std::uint64_t kFewestTargets = 100;
// A class with this share of the labels of the largest one is rare. With more
// classes, or with several labels per sample, rare ones are usual: words,
// characters and pixels are of such sizes.
constexpr double kRareShare = 0.1;
constexpr std::uint64_t kMostClasses = 20;
// The share of the most frequent number that the rarest has, if numbers are
// labels of a balanced data set, and the fewest numbers that are no flags.
constexpr double kBalanced = 0.5;
constexpr std::uint64_t kFewestAmounts = 3;
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

std::optional<FoundFault> rare_class_fault(const DataFacts& labels) {
  const double largest = static_cast<double>(labels.largest_class);
  const double allowed = kRareShare * largest;
  if (labels.smallest_class == 0 || labels.classes > kMostClasses ||
      static_cast<double>(labels.smallest_class + kChanceLabels) > allowed) {
    return std::nullopt;
  }
  return FoundFault{
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

// Whether the targets of a regression look like the labels of classes: all
// whole numbers from 0 to that of the classes minus 1, each about as often.
// Counts and ratings prefer some numbers.
std::optional<FoundFault> classes_fault(const DataFacts& targets) {
  const auto classes = static_cast<double>(targets.classes);
  if (targets.labels < kFewestTargets || targets.classes < kFewestAmounts ||
      targets.classes > kMostClasses || targets.low != 0.0 ||
      targets.high != classes - 1 ||
      static_cast<double>(targets.smallest_class) <
          kBalanced * static_cast<double>(targets.largest_class)) {
    return std::nullopt;
  }
  return FoundFault{
      DataFault::classes_as_numbers,
      fmt::format("all {} targets of a regression are whole numbers from 0 to "
                  "{}, each about as often",
                  targets.labels, targets.classes - 1),
      "targets of the rarest number per target of the most frequent",
      static_cast<double>(targets.smallest_class) /
          static_cast<double>(targets.largest_class),
      kBalanced,
      ">="};
}

// Those that the model distinguishes.
std::int64_t classes_of(const LossInputFacts& loss) {
  if (loss.shape.empty()) return 0;
  return std::max<std::int64_t>(loss.shape.back(), 2);
}

// Whether the loss gives more weight to the smallest class.
bool is_balanced(const LossInputFacts& loss) {
  return loss.weight_of_smallest_class && loss.weight_of_largest_class &&
         *loss.weight_of_smallest_class > *loss.weight_of_largest_class;
}

std::optional<FoundFault> label_fault(const LossInputFacts& loss,
                                      const std::vector<DataFacts>& inputs) {
  const DataFacts& labels = *loss.targets;
  const std::int64_t classes = classes_of(loss);
  if (labels.labels < kFewestTargets) return std::nullopt;
  if (labels.classes == 1) {
    return FoundFault{
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
    return has_several_per_sample(loss, inputs) || is_balanced(loss)
               ? std::nullopt
               : rare_class_fault(labels);
  }
  return FoundFault{
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

// Whether the targets of a binary cross entropy are all 0, or all 1, or those
// of a classification of several places per sample are all of one class. Those
// of adversaries are: each of their losses has its own, or each its optimizer.
std::optional<FoundFault> equal_targets_fault(const LossInputFacts& loss,
                                              const RunFacts& facts) {
  const DataFacts& targets = *loss.targets;
  const bool is_binary = loss.function.starts_with("binary");
  const bool is_of_classes = loss.function == "cross_entropy" && !targets.mean;
  const auto count =
      static_cast<std::uint64_t>(element_count(targets.shape)) * targets.steps;
  if ((!is_binary && !is_of_classes) || facts.losses.size() > 1 ||
      facts.optimizers.size() > 1 || count < kFewestTargets || !targets.low ||
      targets.low != targets.high)
    return std::nullopt;
  if (is_binary && *targets.low != 0 && *targets.low != 1) return std::nullopt;
  return FoundFault{
      is_binary ? DataFault::one_of_two_classes : DataFault::one_class,
      fmt::format("all targets of {} are {:g}",
                  count_text(targets.steps, "saved step"), *targets.low),
      "different targets",
      1,
      2,
      "<"};
}

// Whether the first layer scales the inputs itself, or may do so.
bool is_scaled_by(std::string_view layer) {
  static constexpr std::string_view kScaling[] = {
      "Norm", "Embedding", "Rescaling", "Lambda", "Divide", "Multiply"};
  return std::ranges::any_of(kScaling, [&](std::string_view part) {
    return layer.find(part) != layer.npos;
  });
}

std::optional<FoundFault> scale_fault(const DataFacts& data, DataFault fault,
                                      const DataThresholds& thresholds) {
  if (!data.mean || !data.deviation) return std::nullopt;
  const bool is_mean = std::abs(*data.mean) > *data.deviation;
  const double value = is_mean ? std::abs(*data.mean) : *data.deviation;
  if (!(value > thresholds.largest)) return std::nullopt;
  return FoundFault{
      fault,
      fmt::format("the {} have the mean {:.4g} and the standard "
                  "deviation {:.4g}, in {}",
                  fault == DataFault::targets_large ? "targets" : "inputs",
                  *data.mean, *data.deviation,
                  count_text(data.steps, "saved step")),
      is_mean ? "mean without sign" : "standard deviation", value,
      thresholds.largest};
}

// Whether the models receive numbers or indices, and all of them are the same
// one. An input whose elements are unknown may tell the samples apart.
bool are_constant(const std::vector<DataFacts>& inputs) {
  return !inputs.empty() &&
         std::ranges::all_of(inputs, [](const DataFacts& input) {
           return (input.deviation && *input.deviation == 0) ||
                  (input.low && input.low == input.high);
         });
}

bool is_regression(const LossInputFacts& loss) {
  return loss.function == "mse_loss" || loss.function == "l1_loss" ||
         loss.function == "smooth_l1_loss" || loss.function == "huber_loss";
}

FoundFault constant(const DataFacts& input) {
  return {DataFault::inputs_constant,
          fmt::format("every element of the inputs is {:.4g}, in {}",
                      input.low.value_or(input.mean.value_or(0)),
                      count_text(input.steps, "saved step")),
          "range",
          0,
          0,
          "<="};
}

FoundFault mixed_channels(const DataFacts& input) {
  return {DataFault::channels_mixed,
          fmt::format("the elements of the images ({}) have the order of "
                      "(rows, columns, channels), in {}: elements three apart "
                      "are alike, and neighbors are not",
                      fmt::join(input.shape, ", "),
                      count_text(input.steps, "saved step")),
          "steps with mixed channels",
          static_cast<double>(input.steps),
          1,
          ">="};
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

// Whether each step trains on the same batch, although the loop begins pass
// after pass over a data loader of several. One of several inputs may be the
// same at each step, such as the edges of a graph.
std::optional<FoundFault> repeat_fault(const DataFacts& input,
                                       const RunFacts& facts) {
  const std::uint64_t passes = facts.loop.data_passes.value_or(0);
  const bool is_same =
      std::ranges::all_of(facts.inputs, [](const DataFacts& each) {
        return each.deviation && each.repeats + 1 >= each.steps;
      });
  if (!is_same || passes < input.steps) return std::nullopt;
  return FoundFault{
      DataFault::inputs_repeat,
      fmt::format("the inputs are the same in {}, and at least {} passes over "
                  "a data loader of several batches have begun",
                  count_text(input.steps, "saved step"), passes),
      "different batches",
      1,
      2,
      "<"};
}

// Whether the targets are one of the features that the model is given.
std::optional<FoundFault> reveal_fault(const LossInputFacts& loss) {
  if (!loss.revealing_feature) return std::nullopt;
  return FoundFault{
      DataFault::target_revealed,
      fmt::format("feature {} of the model's input equals the targets, but for "
                  "a factor and an offset, in {}",
                  *loss.revealing_feature,
                  count_text(loss.steps, "saved step")),
      "correlation with the targets",
      1,
      1,
      ">="};
}

std::optional<FoundFault> features_fault(const DataFacts& input,
                                         const DataThresholds& thresholds) {
  if (input.shape.size() != 2 || has_unknown_scale(input) ||
      is_scaled_by(input.received_by))
    return std::nullopt;
  const auto& median = input.median_feature_deviation;
  const auto& largest = input.largest_feature_deviation;
  // Small numbers of any ratio harm nothing.
  if (median && largest && *largest > 1 &&
      *largest > thresholds.feature_ratio * *median) {
    return FoundFault{
        DataFault::features_differ,
        fmt::format("the standard deviation of a feature is {:.4g}, and the "
                    "median over all features is {:.4g}, in {}",
                    *largest, *median, count_text(input.steps, "saved step")),
        "ratio of the largest deviation to the median", *largest / *median,
        thresholds.feature_ratio};
  }
  return scale_fault(input, DataFault::inputs_large, thresholds);
}

// Inputs of a byte that were divided by 255 twice are below 1 / 255.
std::optional<FoundFault> tiny_fault(const DataFacts& input) {
  constexpr double kTiny = 0.005;
  if (!input.low || !input.high || has_unknown_scale(input) ||
      input.received_by.empty() || is_scaled_by(input.received_by)) {
    return std::nullopt;
  }
  const double largest = std::max(std::abs(*input.low), std::abs(*input.high));
  if (!(largest < kTiny)) return std::nullopt;
  return FoundFault{DataFault::inputs_tiny,
                    fmt::format("the inputs are between {:.4g} and {:.4g}, in "
                                "{}",
                                *input.low, *input.high,
                                count_text(input.steps, "saved step")),
                    "largest input without sign",
                    largest,
                    kTiny,
                    "<"};
}

}  // namespace

bool is_of_labels(DataFault fault) {
  return fault == DataFault::labels_sorted || fault == DataFault::one_class ||
         fault == DataFault::one_of_two_classes ||
         fault == DataFault::class_rare;
}

bool has_numbers(const DataFacts& data) {
  return data.deviation || data.low || data.labels > 0;
}

bool has_unknown_scale(const DataFacts& input) {
  return input.shape.size() == 2 && input.deviation &&
         input.received_by.empty();
}

FoundFault not_finite_fault(const DataFacts& data, DataFault fault) {
  return {
      fault,
      fmt::format("the {} contain NaN or infinity at global step {}",
                  fault == DataFault::inputs_not_finite ? "inputs" : "targets",
                  *data.not_finite),
      "step with NaN or infinity", static_cast<double>(*data.not_finite), 0};
}

std::optional<FoundFault> input_fault(const DataFacts& input,
                                      const RunFacts& facts,
                                      const DataThresholds& thresholds) {
  if (are_constant(facts.inputs)) return constant(input);
  if (input.has_mixed_channels == true) return mixed_channels(input);
  if (auto found = repeat_fault(input, facts)) return found;
  if (auto found = tiny_fault(input)) return found;
  return features_fault(input, thresholds);
}

std::optional<FoundFault> target_fault(const LossInputFacts& loss,
                                       const RunFacts& facts,
                                       const DataThresholds& thresholds) {
  if (auto found = reveal_fault(loss)) return found;
  const DataFacts& targets = *loss.targets;
  if (loss.function.starts_with("reg:")) return classes_fault(targets);
  if (targets.labels > 0) return label_fault(loss, facts.inputs);
  if (auto found = equal_targets_fault(loss, facts)) return found;
  if (!is_regression(loss)) return std::nullopt;
  return scale_fault(targets, DataFault::targets_large, thresholds);
}

std::optional<FoundFault> evaluation_fault(const DataFacts& training,
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
  return FoundFault{
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

}  // namespace smdebug
