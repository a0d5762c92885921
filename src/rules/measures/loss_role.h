#pragma once

// Training and validation losses of a run, and which two are compared. For the
// rules that judge both.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"
#include "smdebug/core/scalar_series.h"
#include "smdebug/rules/verdict.h"

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

// A loss, and where it was noted.
struct PlacedLoss {
  Evidence place;
  double value = 0;
};

// Returns the losses in series of a worker, by step: the training and the
// validation loss may have series of their own.
std::vector<PlacedLoss> losses_by_step(
    std::string_view worker, std::span<const ScalarSeriesView> series);

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
