#pragma once

// The faults of what a loss is given, as the facts show them. For LossInput.

#include <cstdint>
#include <optional>
#include <string>

#include "smdebug/core/run_facts.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

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
  attention_to_samples,
  class_ignored,
  weights_follow_counts,
  divergence_outweighs,
  saturated_outputs,
  several_classes,
};

// The causes and what to try: in the order of `InputFault`, then those of
// operations that make a loss not finite.
extern const Advice kInputAdvice[35];

const Advice& advice_on(InputFault fault);
// Null for a kind that this version does not know.
const Advice* advice_on(const OperationFacts& operation);

// Judges a loss that was measured in enough steps: `num_steps`, or more where
// only values show a fault.
std::optional<InputFault> find_input_fault(const LossInputFacts& input,
                                           std::uint64_t num_steps);

// Whether a model whose outputs are all the same has so many saturating layers
// that its first layers can hardly reach them.
bool has_saturating_layers(const RunFacts& facts);

// Whether the targets are tokens of the input, but not the next ones.
std::optional<InputFault> shift_fault(const LossInputFacts& input);

// How many times as many samples the largest class has as the smallest, and how
// many times its weight, so that the weights are those of other classes.
inline constexpr double kUnequalClasses = 2;
bool favors_largest_class(const LossInputFacts& input);

// The middle of a message, after the kind of the loss: "is given the result of
// a softmax, and expects its logarithm".
std::string fault_text(InputFault fault, const LossInputFacts& input);

}  // namespace smdebug
