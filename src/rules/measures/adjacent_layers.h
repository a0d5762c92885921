#pragma once

// Compares a tensor with the layers next to it. A gradient that is small in one
// layer only has other causes than one that fades from layer to layer.

#include <functional>
#include <span>
#include <string>

#include "smdebug/core/observation.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

// A tensor of a step, and the number by which a rule judges it.
struct JudgedTensor {
  const Observation* tensor = nullptr;
  double value = 0;
};

// Finds the layers before and after that of `offender` among the tensors of its
// step and worker, which are in the order of execution: for gradients that is
// often the reverse order of the layers. If a layer has several tensors, it
// takes the one of the same kind (weight, bias) if there is one. Writes them to
// the evidence and returns the end of a sentence, in the order of the forward
// pass: "; in the adjacent layers, fc1.weight has a variance of 3 and
// fc3.weight has a variance of 2". Empty if the step has no other layer.
// `amount_text` returns the number of a tensor with its unit: "a variance of
// 3".
std::string describe_adjacent_layers(
    std::span<const JudgedTensor> judged, Evidence& offender,
    const std::function<std::string(const JudgedTensor&)>& amount_text);

}  // namespace smdebug
