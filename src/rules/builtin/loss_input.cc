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
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/builtin/input_faults.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kLossInputParameters[] = {
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

bool has_frozen(const RunFacts& facts) {
  return std::ranges::any_of(facts.parameters, [](const ParameterFacts& each) {
    return !each.is_trainable;
  });
}

// Whether the next token is a target. Further losses may predict later ones.
bool predicts_next_token(const RunFacts& facts) {
  return std::ranges::any_of(facts.losses, [](const LossFacts& loss) {
    return loss.input && loss.input->target_shift == 1;
  });
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
      auto fault = find_input_fault(*loss.input, num_steps_);
      if (fault == InputFault::equal_outputs && has_saturating_layers(facts)) {
        fault = InputFault::saturated_outputs;
      }
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

  Evidence& add_evidence(Finding& finding, std::string_view tensor,
                         std::string_view worker) const {
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = tensor;
    evidence.worker = worker;
    evidence.step = last_step();
    return evidence;
  }

  Finding describe(InputFault fault, const LossFacts& loss,
                   std::string_view worker) const {
    Finding finding;
    finding.message = fmt::format(
        "{}: {} {}, in each of {}, at {}", tensor_text(loss.tensor, worker),
        loss.kind, fault_text(fault, *loss.input),
        count_text(loss.input->steps, "saved step"), step_text(last_step()));
    set_advice(finding, advice_on(fault));
    Evidence& evidence = add_evidence(finding, loss.tensor, worker);
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
    set_advice(finding, advice_on(InputFault::weights_follow_counts));
    Evidence& evidence = add_evidence(finding, loss.tensor, worker);
    evidence.quantity = "weight of the largest class / of the smallest";
    evidence.value =
        *input.weight_of_largest_class / *input.weight_of_smallest_class;
    evidence.relation = ">=";
    evidence.threshold = kUnequalClasses;
    return finding;
  }

  Finding describe(const OperationFacts& operation, const Advice& advice,
                   const RunFacts& facts, std::string_view worker) const {
    Finding finding;
    Evidence& evidence = add_evidence(
        finding,
        facts.losses.empty() ? "loss_output_0" : facts.losses[0].tensor,
        worker);
    if (operation.size > 0) {
      evidence.quantity = "elements of the argument";
      evidence.value = static_cast<double>(operation.elements);
      evidence.relation = ">";
      evidence.threshold = 0;
    }
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
        "or over the samples, or without any activation between its layers, a "
        "loss beside the "
        "divergence of a "
        "normal distribution that counts at least 30 times as much as in an "
        "evidence lower bound, or, for a model of a "
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
    .advice = kInputAdvice,
    .parameters = kLossInputParameters,
    .make = make_rule<LossInput>,
};

}  // namespace smdebug
