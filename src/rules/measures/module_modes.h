#pragma once

// Finds modules that an optimizer updates while they are in evaluation mode,
// from the facts of a training.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/core/run_facts.h"

namespace smdebug {

// Modules of one model whose mode matters: dropout that drops something and
// normalization with running statistics. Those inside a part without trainable
// parameters do not count: such a part is often kept in evaluation mode.
struct ModelModes {
  std::string model;
  std::optional<bool> is_training;  // of the model itself
  std::size_t dependent = 0;
  std::vector<const ModuleFacts*> evaluating;  // of them, in evaluation mode

  // Whether all of the model is in evaluation mode. Otherwise its parts have
  // been set one by one, so somebody may have meant it.
  bool is_all_evaluating() const {
    return is_training == false && evaluating.size() == dependent &&
           dependent > 0;
  }
};

// Returns the models that an optimizer updates; valid as long as `facts`. A
// model in evaluation mode beside one in training mode is left out: they may be
// updated in turns, as the two of a GAN.
std::vector<ModelModes> modes_of_trained_models(const RunFacts& facts);

}  // namespace smdebug
