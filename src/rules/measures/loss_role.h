#pragma once

// Training and validation losses of a run, and which two are compared. For the
// rules that judge both.

#include <cstdint>
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
// loss without a counterpart, as in PREDICT. In a run with modes, TRAIN and
// EVAL decide; otherwise XGBoost's names do ("train-x" beside "validation-x",
// "validation_0-x", "eval-x" or "test-x"). "val_x", as Keras writes it, is the
// validation loss of "x" in every mode.
std::optional<LossRole> role_of_loss(std::string_view name, Mode mode);

// The mean of a sequence of losses.
struct RunningMean {
  std::uint64_t count = 0;
  double mean = 0;  // 0 before the first number

  void add(double value) {
    ++count;
    mean += (value - mean) / static_cast<double>(count);
  }
};

}  // namespace smdebug
