#pragma once

// Which losses of a run belong to the training and which to its validation,
// and which two are compared. For the rules that look at both.

#include <optional>
#include <string>
#include <string_view>

#include "smdebug/core/mode.h"

namespace smdebug {

struct LossRole {
  enum class Part { training, validation } part;
  // Equal for the losses that are compared: "Loss_output_0", "logloss".
  std::string pair;
};

// Returns the role of the loss of that name at a step of `mode`; none for a
// loss that is compared with nothing, as in PREDICT. Where a run has modes,
// TRAIN and EVAL decide. Where it has none, XGBoost's names do ("train-x"
// beside "validation-x", "validation_0-x", "eval-x" or "test-x"). "val_x", as
// Keras writes it, is the validation loss of "x" in every mode.
std::optional<LossRole> role_of_loss(std::string_view name, Mode mode);

}  // namespace smdebug
