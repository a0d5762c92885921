#pragma once

// How an offender stands to the layers next to it: a gradient that is small in
// one layer alone says something else than one that fades from layer to layer.

#include <span>
#include <string>

#include "smdebug/core/observation.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

// A tensor of a step, with the number that a rule judges it by.
struct JudgedTensor {
  const Observation* tensor = nullptr;
  double value = 0;
};

// Finds the layers before and after that of `offender` among the tensors of
// its step and worker, which come in the order of execution; of a layer with
// several tensors the one of the same kind (weight, bias), if it is there.
// Writes them into the evidence, and returns the end of a sentence: "; the
// layer before, fc1, has 0.0003, the one after, fc3, 2e-09". Empty where the
// step shows no other layer.
std::string tell_neighbours(std::span<const JudgedTensor> judged,
                            Evidence& offender);

}  // namespace smdebug
