#include "rules/builtin/input_faults.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smdebug {
namespace {

// Steps that must agree if only values show a fault: as many as are measured.
constexpr std::uint64_t kStepsForValues = 10;
// A short batch may by chance have no label that counts.
constexpr std::uint64_t kStepsForLabels = 5;
// The targets of a healthy training may exceed the range by noise.
constexpr double kLeastOutside = 0.1;
// Whole numbers that occur less often may be amounts rather than classes.
constexpr std::uint64_t kLabelsPerClass = 8;
// A divergence that counts so many times as much as it should lets a model
// ignore its latent variables. Some models learn with a few times as much.
constexpr double kHeavyDivergence = 30;
// So many layers of sigmoid or tanh in a row pass hardly anything on.
constexpr std::ptrdiff_t kManySaturating = 4;
// Less padding than this does not matter.
constexpr double kLeastPadding = 0.1;

// Fewer different tokens with the ignored label may be marks, such as that of
// the beginning.
constexpr std::uint64_t kIgnoredTokens = 6;
// Counts from which it is no accident which class is the largest.
constexpr std::uint64_t kFewestOfClass = 5, kFewestLabels = 200;

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    count *= std::max<std::int64_t>(size, 0);
  return count;
}

// Whether the shapes are those of the same elements, one with a dimension of 1
// that pairs each with all others. Shapes of equal length may be meant so.
bool is_broadcast(const LossInputFacts& input) {
  if (!input.target_shape) return false;
  const auto& a = input.shape;
  const auto& b = *input.target_shape;
  return a.size() != b.size() && a.size() <= 2 && b.size() <= 2 &&
         elements(a) == elements(b) && elements(a) > 1 &&
         (a.size() < 2 || a.back() == 1) && (b.size() < 2 || b.back() == 1);
}

bool has_one_output(const LossInputFacts& input) {
  return !input.shape.empty() &&
         (input.shape.size() == 1 || input.shape.back() == 1);
}

bool takes_probabilities(const LossInputFacts& input) {
  return input.function == "binary_cross_entropy" ||
         input.function == "categorical_cross_entropy";
}

// Whether the last activation is known and gives no probabilities.
bool lacks_activation(const LossInputFacts& input) {
  return input.activation == "Linear" || input.activation == "Relu" ||
         input.activation == "Tanh";
}

// Whether the targets are class labels of which one output can only give two.
bool has_too_few_outputs(const LossInputFacts& input) {
  if (!has_one_output(input) || !input.targets) return false;
  const DataFacts& targets = *input.targets;
  return targets.classes > 2 &&
         targets.labels >= kLabelsPerClass * targets.classes;
}

std::optional<InputFault> certain_fault(const LossInputFacts& input) {
  const bool are_probabilities = input.values == "probabilities";
  if (input.function == "cross_entropy" && are_probabilities &&
      input.activation == "Softmax") {
    return InputFault::softmax_twice;
  }
  if (input.function == "binary_cross_entropy_with_logits" &&
      are_probabilities && input.activation == "Sigmoid") {
    return InputFault::sigmoid_twice;
  }
  const bool takes_logarithms =
      input.function == "nll_loss" || input.function == "kl_div";
  if (takes_logarithms && are_probabilities && input.activation == "Softmax") {
    return InputFault::no_logarithm;
  }
  if (takes_logarithms && input.values == "scores" &&
      input.activation == "Linear") {
    return InputFault::no_log_softmax;
  }
  if (takes_probabilities(input) && lacks_activation(input) &&
      !are_probabilities) {
    return InputFault::no_activation;
  }
  if (input.activation == "Softmax" && input.shape.size() > 1 &&
      input.shape.back() == 1 && input.equal_outputs == input.steps) {
    return InputFault::one_unit_softmax;
  }
  if (input.values == "log_probabilities_of_batch") {
    return InputFault::batch_softmax;
  }
  if (input.values == "log_probabilities_of_others") {
    return InputFault::other_softmax;
  }
  if (is_broadcast(input)) return InputFault::broadcast;
  if (input.mixes_places == true) return InputFault::places_mixed;
  if (input.has_softmax_of_one == true) return InputFault::softmax_of_one;
  if (input.has_softmax_of_batch == true) {
    return InputFault::attention_to_samples;
  }
  if (input.sees_later == true && input.target_shift == 1) {
    return InputFault::later_tokens_seen;
  }
  if (input.linear_layers) return InputFault::no_activations;
  if (input.divergence_weight.value_or(0) >= kHeavyDivergence) {
    return InputFault::divergence_outweighs;
  }
  if (input.fractional.value_or(0) > 0) return InputFault::fractional_labels;
  return std::nullopt;
}

// Whether targets of a loss that compares probabilities are clearly none. A few
// are enough: the mask of an image may have few pixels.
bool has_targets_beyond_1(const LossInputFacts& input) {
  constexpr double kMargin = 0.5;
  return input.function.starts_with("binary_cross_entropy") &&
         input.outside.value_or(0) > 0 && input.target_low &&
         input.target_high &&
         (*input.target_low < -kMargin || *input.target_high > 1 + kMargin);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "),
                     shape.size() == 1 ? "," : "");
}

std::string range_text(const LossInputFacts& input) {
  if (!input.target_low || !input.target_high) return "";
  return fmt::format(" (targets from {:.4g} to {:.4g})", *input.target_low,
                     *input.target_high);
}

// The input of a loss that is no probabilities.
std::string result_text(const LossInputFacts& input) {
  if (input.activation.empty()) return "numbers below 0 or above 1";
  if (input.activation == "Linear") return "the result of a linear layer";
  return fmt::format("the result of '{}'", input.activation);
}

std::string_view softmax_text(const LossInputFacts& input) {
  return input.activation == "Log" ? "logarithm of a softmax"
                                   : "result of a log_softmax";
}

}  // namespace

std::optional<InputFault> find_input_fault(const LossInputFacts& input,
                                           std::uint64_t num_steps) {
  if (input.steps < num_steps) return std::nullopt;
  if (const auto certain = certain_fault(input)) return certain;
  if (input.steps >= std::max(num_steps, kStepsForLabels) &&
      input.ignored == 1) {
    return InputFault::labels_ignored;
  }
  if (input.steps < std::max(num_steps, kStepsForValues)) return std::nullopt;
  if (takes_probabilities(input) && input.activation.empty() &&
      input.values == "scores") {
    return InputFault::no_activation;
  }
  if (input.equal_outputs == input.steps) return InputFault::equal_outputs;
  if (input.ignored_tokens.value_or(0) >= kIgnoredTokens) {
    return InputFault::class_ignored;
  }
  if (input.outside && *input.outside >= kLeastOutside) {
    if (input.values == "distributions") return InputFault::several_classes;
    if (input.function == "cross_entropy" ||
        input.function == "categorical_cross_entropy") {
      return InputFault::no_distributions;
    }
    return has_too_few_outputs(input) ? InputFault::too_few_outputs
                                      : InputFault::targets_out_of_reach;
  }
  if (has_targets_beyond_1(input)) return InputFault::targets_out_of_reach;
  if (input.padding.value_or(0) >= kLeastPadding) {
    return InputFault::padding_counts;
  }
  return std::nullopt;
}

bool has_saturating_layers(const RunFacts& facts) {
  return std::ranges::count_if(facts.modules, [](const ModuleFacts& module) {
           return module.kind == "Sigmoid" || module.kind == "Tanh";
         }) >= kManySaturating;
}

std::optional<InputFault> shift_fault(const LossInputFacts& input) {
  if (!input.target_shift || input.target_shift == 1) return std::nullopt;
  return input.target_shift == 0 ? InputFault::tokens_not_shifted
                                 : InputFault::tokens_shifted;
}

bool favors_largest_class(const LossInputFacts& input) {
  if (!input.targets || !input.weight_of_largest_class ||
      !input.weight_of_smallest_class) {
    return false;
  }
  const auto largest = static_cast<double>(input.targets->largest_class);
  const auto smallest = static_cast<double>(input.targets->smallest_class);
  return input.targets->labels >= kFewestLabels &&
         input.targets->smallest_class >= kFewestOfClass &&
         largest >= kUnequalClasses * smallest &&
         *input.weight_of_smallest_class > 0 &&
         *input.weight_of_largest_class >=
             kUnequalClasses * *input.weight_of_smallest_class;
}

std::string fault_text(InputFault fault, const LossInputFacts& input) {
  switch (fault) {
    case InputFault::softmax_twice:
      return "is given probabilities, the result of a softmax, and applies a "
             "softmax itself";
    case InputFault::sigmoid_twice:
      return "is given probabilities, the result of a sigmoid, and applies a "
             "sigmoid itself";
    case InputFault::no_logarithm:
      return "is given the result of a softmax, and expects its logarithm";
    case InputFault::no_log_softmax:
      return "is given the result of a linear layer, and expects "
             "log-probabilities";
    case InputFault::no_activation:
      return fmt::format("is given {}, and expects probabilities",
                         result_text(input));
    case InputFault::one_unit_softmax:
      return "is given the result of a softmax over one unit, which is always "
             "1";
    case InputFault::broadcast:
      return fmt::format(
          "is given an input of shape {} and targets of shape {}, and compares "
          "each with all others",
          shape_text(input.shape), shape_text(*input.target_shape));
    case InputFault::labels_ignored:
      return "is given only labels that it ignores";
    case InputFault::divergence_outweighs:
      return fmt::format(
          "is minimized together with the divergence of a normal distribution "
          "that counts {:.3g} times as much as in an evidence lower bound",
          *input.divergence_weight);
    case InputFault::equal_outputs:
    case InputFault::saturated_outputs:
      return "is given the same output for samples with different targets";
    case InputFault::too_few_outputs:
      return fmt::format(
          "is given one output per sample and labels of {} classes{}",
          input.targets->classes, range_text(input));
    case InputFault::targets_out_of_reach:
      if (*input.outside < kLeastOutside) {
        return "is given targets below 0 or above 1, which are no "
               "probabilities" +
               range_text(input);
      }
      return fmt::format(
          "is given targets of which {:.0f} % or more are out of reach{}{}",
          *input.outside * 100,
          input.activation.empty()
              ? ""
              : fmt::format(" for the result of '{}'", input.activation),
          range_text(input));
    case InputFault::no_distributions:
      return fmt::format(
          "is given targets of which {:.0f} % or more of the rows do not sum "
          "to 1",
          *input.outside * 100);
    case InputFault::several_classes:
      return fmt::format(
          "is given outputs that sum to 1, and targets of which {:.0f} % or "
          "more of the rows do not",
          *input.outside * 100);
    case InputFault::batch_softmax:
      return fmt::format("is given the {} along dimension 0 of {}",
                         softmax_text(input), shape_text(input.shape));
    case InputFault::other_softmax:
      return fmt::format(
          "is given the {} of shape {}, and its probabilities do not sum to 1 "
          "over the classes",
          softmax_text(input), shape_text(input.shape));
    case InputFault::tokens_not_shifted:
      return "is given targets that are the tokens of the model's input at the "
             "same places";
    case InputFault::tokens_shifted:
      return fmt::format(
          "is given targets that are the tokens of the model's "
          "input {} places further on",
          *input.target_shift);
    case InputFault::fractional_labels:
      return fmt::format(
          "is given class labels of which up to {:.0f} % are no whole numbers",
          *input.fractional * 100);
    case InputFault::padding_counts:
      return fmt::format(
          "is given targets of which {:.0f} % or more are padding{}, and "
          "counts "
          "them",
          *input.padding * 100,
          input.padding_label ? fmt::format(" (label {})", *input.padding_label)
                              : "");
    case InputFault::places_mixed:
      return fmt::format(
          "is given rows {} that are a view of (samples, classes, places)",
          shape_text(input.shape));
    case InputFault::no_activations:
      return fmt::format(
          "is given the result of {} linear layers without an activation in "
          "the whole model",
          *input.linear_layers);
    case InputFault::later_tokens_seen:
      return "is given targets that are the next tokens of the input, and the "
             "attention of the model uses these tokens";
    case InputFault::softmax_of_one:
      return "is given the result of a model with a softmax over a dimension "
             "of size 1";
    case InputFault::attention_to_samples:
      return "is given the result of a model with a softmax over the samples";
    case InputFault::class_ignored:
      return fmt::format(
          "ignores a label that {} different tokens of the input have",
          *input.ignored_tokens);
    case InputFault::weights_follow_counts:
      break;  // see describe_weights
  }
  return "";
}

}  // namespace smdebug
