// LossInput: a loss does not receive the input that it expects.
//
// The facts of a training have what each loss was given in its first saved
// steps. A fault is certain if the operation that computed the input, or the
// shapes, prove it: a few steps that agree then suffice. A fault that only
// shows in values needs as many steps as are measured. The original has no such
// rule.
//
// Keras takes the scores from before a softmax or sigmoid where it finds them,
// whatever `from_logits` is: then its loss is one of probabilities.
//
// Of losses that are written out in elementary operations, it sees only a
// difference that pairs predictions with all targets, and the operation that
// makes a loss not finite. It does not see losses
// in compiled code and custom functions, the shapes of an L1 loss and the input
// of a KL divergence unless they are modules, and an input that is a constant
// because the data are.

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
     .default_text = "3",
     .description = "Number of saved steps in which a loss must be given the "
                    "wrong input. Adapters measure at most 10.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

enum class InputFault {
  softmax_twice,
  sigmoid_twice,
  no_logarithm,
  no_log_softmax,
  no_activation,
  one_unit_softmax,
  broadcast,
  labels_ignored,
  equal_outputs,
  too_few_outputs,
  targets_out_of_reach,
  no_distributions,
  batch_softmax,
  other_softmax,
  tokens_not_shifted,
  tokens_shifted,
  fractional_labels,
  padding_counts,
  places_mixed,
  no_activations,
  later_tokens_seen,
  softmax_of_one,
  class_ignored,
  weights_follow_counts,
};

// In the order of `InputFault`.
const Advice kAdvice[] = {
    {.when = "probabilities for a cross entropy",
     .cause = "a softmax at the end of the model, although the loss applies "
              "one: the gradients are small, and the loss cannot reach 0",
     .advice = "return the scores of the last linear layer from the model, and "
               "apply softmax only to show probabilities; in Keras, set "
               "from_logits=False instead"},
    {.when = "probabilities for a binary cross entropy with logits",
     .cause = "a sigmoid at the end of the model, although the loss applies "
              "one: no probability below 0.5 can be learned",
     .advice = "return the scores of the last linear layer from the model, or "
               "use the binary cross entropy of probabilities: in Keras, "
               "from_logits=False"},
    {.when = "probabilities for a loss of log-probabilities",
     .cause = "softmax instead of log_softmax: the loss is not a likelihood "
              "and can fall below 0",
     .advice = "use log_softmax instead of softmax, or give the scores to a "
               "cross entropy"},
    {.when = "scores for a loss of log-probabilities",
     .cause = "a missing log_softmax: the loss falls without limit",
     .advice = "use a cross entropy, which takes scores, or apply log_softmax "
               "to the output of the model"},
    {.when = "no probabilities for a loss of probabilities",
     .cause = "a last layer without softmax or sigmoid: what is below 0 or "
              "above 1 is cut off and gets no gradient, and the loss may "
              "become NaN",
     .advice = "end the model with softmax, or with sigmoid for one output per "
               "class, or without an activation and set from_logits=True"},
    {.when = "a softmax over one unit",
     .cause = "a last layer with one unit and softmax: the model predicts 1 "
              "for every sample",
     .advice = "use sigmoid for two classes, one unit per class with softmax "
               "for more, and no activation for a regression"},
    {.when = "shapes that are broadcast",
     .cause = "predictions of shape (N, 1) and targets of shape (N), or the "
              "reverse: the loss compares each prediction with all targets, "
              "and the model learns their mean",
     .advice = "give both the same shape, for example with squeeze(1) on the "
               "predictions or unsqueeze(1) on the targets"},
    {.when = "all labels are ignored",
     .cause = "a mask that covers every label, or sequences that are truncated "
              "before their labels begin: the mean over no labels is NaN",
     .advice = "print the labels of a batch, and check where the mask ends and "
               "how long sequences may be",
     .severity = Severity::fatal},
    {.when = "the same output for all samples",
     .cause = "a softmax over one unit, which is always 1, or a layer that no "
              "longer passes its input on",
     .advice = "use a sigmoid for one unit, and look for layers whose output "
               "is constant"},
    {.when = "more classes than outputs",
     .cause =
         "a last layer with one unit, which distinguishes two classes, for "
         "labels of more classes",
     .advice = "use one unit per class with softmax, and a cross entropy of "
               "class labels"},
    {.when = "targets that the model cannot give",
     .cause = "a last activation whose range does not contain the targets, or "
              "targets of another scale, such as labels of -1 and 1 for a "
              "binary cross entropy",
     .advice = "remove the last activation, or transform the targets to its "
               "range"},
    {.when = "rows of targets that do not sum to 1",
     .cause = "several classes per sample under a cross entropy, which expects "
              "one class or the probabilities of all, or labels that one_hot "
              "cannot represent, which makes rows of zeros of them",
     .advice =
         "for several classes, use a loss that judges each class by itself "
         "(nn.BCEWithLogitsLoss, binary_crossentropy), or divide each row by "
         "its sum; for one, number the classes from 0, below the depth"},
    {.when = "a softmax over the batch",
     .cause = "softmax or log_softmax along dimension 0: each class competes "
              "over the samples of the batch, not each sample over its classes",
     .advice = "apply it along the classes: dim=1, or dim=-1"},
    {.when = "a softmax over another dimension than the classes",
     .cause = "softmax or log_softmax along a dimension that the loss does not "
              "take for the classes: it takes the second one, or the only one",
     .advice = "apply it along dim=1, and move the classes there first if they "
               "are elsewhere: x.movedim(-1, 1)"},
    {.when = "targets that are the tokens of the input",
     .cause = "labels that are not shifted: the model can copy its input, and "
              "the loss falls although it predicts nothing; an autoencoder "
              "wants this",
     .advice = "compare the output at each place with the next token: "
               "logits[:, :-1] with tokens[:, 1:]",
     .severity = Severity::advice},
    {.when = "targets that are other tokens than the next ones",
     .cause = "labels that are shifted twice, such as by the caller and by a "
              "model that shifts them itself",
     .advice = "shift the labels once: Transformers shifts the argument "
               "'labels' of its language models itself"},
    {.when = "class labels that are no whole numbers",
     .cause = "labels that were scaled, or that are amounts and no classes: "
              "the loss drops what follows the decimal point, so that many "
              "samples get the label 0",
     .advice = "give the loss whole numbers from 0 to the number of classes "
               "minus 1; for amounts, use a mean squared error and one output"},
    {.when = "targets that are padding",
     .cause = "a loss that counts the padding of the sequences: the model "
              "learns to predict padding, and the loss looks lower than it is",
     .advice = "give the loss the label of the padding to ignore: "
               "ignore_index=0, for example, or multiply it by a mask; in "
               "Keras, mask_zero=True",
     .severity = Severity::advice},
    {.when = "scores of several places in one row",
     .cause = "view() or reshape() of (samples, classes, places) to rows of "
              "classes, which keeps the order of the elements: a row then has "
              "the scores of one class at several places, not those of all "
              "classes at one place",
     .advice = "give the loss the scores as they are, with the classes in "
               "dimension 1, or move the classes to the end first: "
               "x.movedim(1, -1).reshape(-1, classes)"},
    {.when = "linear layers without activations",
     .cause = "missing activations: layers that follow each other directly can "
              "do no more than a single one, and the model is linear",
     .advice = "put an activation between the layers, such as nn.ReLU()"},
    {.when = "attention to the tokens that are predicted",
     .cause = "a missing causal mask: the model can look up the next token in "
              "its input, so the loss falls although it cannot write text",
     .advice = "hide the later places: is_causal=True in "
               "F.scaled_dot_product_attention, "
               "nn.Transformer.generate_square_subsequent_mask as mask, or "
               "scores.masked_fill(torch.ones(n, n).triu(1).bool(), "
               "float('-inf')) before the softmax"},
    {.when = "a softmax over a single score",
     .cause = "a softmax over a dimension of size 1: its result is 1 for each "
              "score, so it weighs nothing, and the scores get no gradient",
     .advice = "apply it along the dimension over which it should weigh, such "
               "as dim=1 of (samples, places, 1)"},
    {.when = "a class that the loss ignores",
     .cause = "ignore_index is the label of a class: the loss leaves out all "
              "samples of it, and the model never learns it",
     .advice = "use a label for the padding that no class has, such as -100, "
               "or number the classes from 1"},
    {.when = "weights that favor the largest class",
     .cause = "weights of classes in the wrong order, or inverted: the most "
              "frequent class counts most, and the rarest one least",
     .advice = "order the weights by the number of the class, and make them "
               "larger the fewer samples a class has: "
               "len(y) / (classes * torch.bincount(y))"},
    // Those of operations that make a loss not finite, see OperationFacts.
    {.when = "log of 0",
     .cause = "a probability that has become 0, in a loss that takes its "
              "logarithm",
     .advice = "compute the loss from the scores before the softmax or sigmoid "
               "(F.cross_entropy, F.binary_cross_entropy_with_logits), or "
               "limit the argument: torch.log(p.clamp_min(1e-7))",
     .severity = Severity::fatal},
    {.when = "log of a negative number",
     .cause = "scores where the logarithm expects probabilities",
     .advice = "apply softmax or sigmoid first, or compute the loss from the "
               "scores (F.cross_entropy, F.binary_cross_entropy_with_logits)",
     .severity = Severity::fatal},
    {.when = "division by 0",
     .cause = "a divisor that has become 0, such as a count, a norm or a "
              "standard deviation",
     .advice = "add a small number to the divisor, or leave out the samples "
               "for which it is 0",
     .severity = Severity::fatal},
    {.when = "undefined power",
     .cause = "a fractional power of a negative number, or a negative power of "
              "0",
     .advice = "limit the base from below: x.clamp_min(1e-7)",
     .severity = Severity::fatal},
    {.when = "overflow of exp",
     .cause = "exp of a number above 88, beyond which float32 has no numbers",
     .advice = "use torch.logsumexp, softmax or log_softmax, which subtract "
               "the largest score first, or limit the argument",
     .severity = Severity::fatal},
    {.when = "gradient of a root of 0",
     .cause = "a root of 0, such as the distance of a sample from itself: the "
              "slope of a root is infinite there",
     .advice = "add a small number below the root: torch.sqrt(x + 1e-12)",
     .severity = Severity::fatal},
    {.when = "mean of no elements",
     .cause = "a mask that selects no element of the batch",
     .advice = "skip such batches, or divide the sum by max(count, 1)",
     .severity = Severity::fatal},
};

// Steps that must agree if only values show a fault: as many as are measured.
constexpr std::uint64_t kStepsForValues = 10;
// A short batch may by chance have no label that counts.
constexpr std::uint64_t kStepsForLabels = 5;
// The targets of a healthy training may exceed the range by noise.
constexpr double kLeastOutside = 0.1;
// Whole numbers that occur less often may be amounts rather than classes.
constexpr std::uint64_t kLabelsPerClass = 8;
// Less padding than this does not matter.
constexpr double kLeastPadding = 0.1;

// Fewer different tokens with the ignored label may be marks, such as that of
// the beginning.
constexpr std::uint64_t kIgnoredTokens = 6;
// How many times as many samples the largest class has as the smallest, and how
// many times its weight, so that the weights are those of other classes.
constexpr double kUnequal = 2;
constexpr std::uint64_t kFewestOfClass = 5, kFewestLabels = 200;

// Null for a kind that this version does not know.
const Advice* advice_on(const OperationFacts& operation) {
  const auto found = std::ranges::find(kAdvice, operation.kind, &Advice::when);
  return found == std::ranges::end(kAdvice) ? nullptr : found;
}

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

bool favors_largest_class(const LossInputFacts& input) {
  if (!input.targets || !input.weight_of_largest_class ||
      !input.weight_of_smallest_class) {
    return false;
  }
  const auto largest = static_cast<double>(input.targets->largest_class);
  const auto smallest = static_cast<double>(input.targets->smallest_class);
  return input.targets->labels >= kFewestLabels &&
         input.targets->smallest_class >= kFewestOfClass &&
         largest >= kUnequal * smallest &&
         *input.weight_of_smallest_class > 0 &&
         *input.weight_of_largest_class >=
             kUnequal * *input.weight_of_smallest_class;
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
  if (input.sees_later == true && input.target_shift == 1) {
    return InputFault::later_tokens_seen;
  }
  if (input.linear_layers) return InputFault::no_activations;
  if (input.fractional.value_or(0) > 0) return InputFault::fractional_labels;
  return std::nullopt;
}

bool has_frozen(const RunFacts& facts) {
  return std::ranges::any_of(facts.parameters, [](const ParameterFacts& each) {
    return !each.is_trainable;
  });
}

// The next token is the target of a model of a language.
std::optional<InputFault> shift_fault(const LossInputFacts& input) {
  if (!input.target_shift || input.target_shift == 1) return std::nullopt;
  return input.target_shift == 0 ? InputFault::tokens_not_shifted
                                 : InputFault::tokens_shifted;
}

// Whether the next token is a target. Further losses may predict later ones.
bool predicts_next_token(const RunFacts& facts) {
  return std::ranges::any_of(facts.losses, [](const LossFacts& loss) {
    return loss.input && loss.input->target_shift == 1;
  });
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

std::optional<InputFault> fault_of(const LossInputFacts& input,
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

// The middle of the message: the input of the loss.
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
    case InputFault::equal_outputs:
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
    case InputFault::class_ignored:
      return fmt::format(
          "ignores a label that {} different tokens of the input have",
          *input.ignored_tokens);
    case InputFault::weights_follow_counts:
      break;  // see describe_weights
  }
  return "";
}

class LossInput : public FactsRule {
 public:
  explicit LossInput(const Parameters& parameters)
      : num_steps_(
            static_cast<std::uint64_t>(parameters.integer("num_steps"))) {}

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    if (has_judged()) return no_finding();
    if (most_steps_ == 0) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: what the losses were given is unknown; "
                   "hooks for PyTorch measure it in the first saved steps, for "
                   "losses of torch.nn that are not compiled, hooks for Keras "
                   "for its own losses in its own train_step, and hooks for "
                   "MXNet for losses of Gluon"};
    }
    return Error{
        Error::Code::not_found,
        fmt::format("nothing to judge: the losses were measured in "
                    "{}, num_steps={} are needed",
                    count_text(most_steps_, "saved step"), num_steps_)};
  }

  std::string not_judged() const override {
    for (const auto& [worker, names] : unmeasured_) {
      if (!names.empty())
        return fmt::format("what {} was given: not measured",
                           names_text(names));
    }
    return "";
  }

 private:
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    if (const auto& operation = facts.loop.not_finite_by) {
      if (const Advice* advice = advice_on(*operation)) {
        count_judged();
        return describe(*operation, *advice, facts, worker);
      }
    }
    auto& unmeasured = unmeasured_[std::string(worker)];
    unmeasured.clear();
    for (const LossFacts& loss : facts.losses) {
      if (!loss.input) {
        unmeasured.push_back(loss.tensor);
        continue;
      }
      most_steps_ = std::max(most_steps_, loss.input->steps);
      if (favors_largest_class(*loss.input)) {
        count_judged();
        return describe_weights(loss, worker);
      }
      if (loss.input->steps < num_steps_) continue;
      count_judged();
      const auto fault = fault_of(*loss.input, num_steps_);
      // A frozen part may have the activations.
      if (fault == InputFault::no_activations && has_frozen(facts)) continue;
      if (fault) {
        return describe(*fault, loss, worker);
      }
    }
    return judge_shift(facts, worker);
  }

  std::optional<Finding> judge_shift(const RunFacts& facts,
                                     std::string_view worker) const {
    if (predicts_next_token(facts)) return std::nullopt;
    for (const LossFacts& loss : facts.losses) {
      if (!loss.input || loss.input->steps < num_steps_) continue;
      if (const auto fault = shift_fault(*loss.input)) {
        return describe(*fault, loss, worker);
      }
    }
    return std::nullopt;
  }

  Finding describe(InputFault fault, const LossFacts& loss,
                   std::string_view worker) const {
    Finding finding;
    finding.message = fmt::format(
        "{}: {} {}, in each of {}, at {}", tensor_text(loss.tensor, worker),
        loss.kind, fault_text(fault, *loss.input),
        count_text(loss.input->steps, "saved step"), step_text(last_step()));
    set_advice(finding, kAdvice[static_cast<std::size_t>(fault)]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = loss.tensor;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "saved steps with this input";
    evidence.value = static_cast<double>(loss.input->steps);
    evidence.relation = ">=";
    evidence.threshold = static_cast<double>(num_steps_);
    return finding;
  }

  Finding describe_weights(const LossFacts& loss,
                           std::string_view worker) const {
    const LossInputFacts& input = *loss.input;
    Finding finding;
    finding.message = fmt::format(
        "{}: {} gives the weight {:.3g} to the most frequent class ({} of {} "
        "labels), and {:.3g} to the least frequent one ({})",
        tensor_text(loss.tensor, worker), loss.kind,
        *input.weight_of_largest_class, input.targets->largest_class,
        input.targets->labels, *input.weight_of_smallest_class,
        input.targets->smallest_class);
    set_advice(
        finding,
        kAdvice[static_cast<std::size_t>(InputFault::weights_follow_counts)]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = loss.tensor;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "weight of the largest class / of the smallest";
    evidence.value =
        *input.weight_of_largest_class / *input.weight_of_smallest_class;
    evidence.relation = ">=";
    evidence.threshold = kUnequal;
    return finding;
  }

  Finding describe(const OperationFacts& operation, const Advice& advice,
                   const RunFacts& facts, std::string_view worker) const {
    Finding finding;
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor =
        facts.losses.empty() ? "loss_output_0" : facts.losses[0].tensor;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "elements of the argument";
    evidence.value = static_cast<double>(operation.elements);
    evidence.relation = ">";
    evidence.threshold = 0;
    const std::string place =
        operation.size == 0
            ? ""
            : fmt::format(", in {} of the {} of its argument",
                          operation.elements,
                          count_text(operation.size, "element"));
    finding.message = fmt::format(
        "{}: the {} is not finite at step {}: {}{}",
        tensor_text(evidence.tensor, worker),
        operation.kind.starts_with("gradient") ? "gradient" : "loss",
        operation.step, operation.kind, place);
    set_advice(finding, advice);
    return finding;
  }

  std::uint64_t num_steps_;
  // By worker: the losses of which nothing is known.
  std::map<std::string, std::vector<std::string>, std::less<>> unmeasured_;
  std::uint64_t most_steps_ = 0;  // in which a loss was measured
};

}  // namespace

const RuleFactory kLossInput = {
    .name = "LossInput",
    .summary = "A loss does not receive the input that it expects.",
    .condition =
        "Fires when a loss was given, in 'num_steps' saved steps: "
        "probabilities where it expects scores or log-probabilities, the "
        "result of a last layer without softmax or sigmoid where it expects "
        "probabilities, scores where it expects log-probabilities, a softmax "
        "over one unit, over the batch or over another dimension than the "
        "classes, predictions and targets that broadcast to all pairs, class "
        "labels that are no whole numbers, targets that are tokens of an "
        "input but not the next ones, scores whose places and classes a view "
        "has mixed, the result of a model with a softmax over a single score "
        "or without any activation between its layers, or, for a model of a "
        "language, that of an attention to the tokens that it predicts. "
        "Fires after 5 steps if all labels are ignored, and after 10 if "
        "all samples have the same output or at least a tenth of the targets "
        "is out of reach of the last activation, as the labels of three "
        "classes are for one output, a tenth of the rows of probabilities that "
        "a cross entropy is given does not sum to 1, the loss ignores the "
        "label of a class that at least 6 different tokens have, or weighs "
        "the most frequent class at least twice as much as the least frequent "
        "one, or a binary cross entropy has targets "
        "below -0.5 or above 1.5 in each step. Then it also advises if a tenth "
        "of the targets that count is padding of sequences of tokens. Fires at "
        "once if an operation "
        "of the loss "
        "made it NaN or infinite, such as the log of 0.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make_rule<LossInput>,
};

}  // namespace smdebug
