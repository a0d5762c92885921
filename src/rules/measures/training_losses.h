#pragma once

// `TrainingLosses` keeps the losses of the training steps of a worker from the
// first on, as far as their series tell them.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/scalar_series.h"

#include "rules/measures/optimizer_turns.h"

namespace smdebug {

/// Returns whether a series has the name of a loss.
bool names_loss(std::string_view series);

class TrainingLosses {
 public:
  // Adds the next samples of a series. Others than losses, learning rates and
  // the number of repeated calls are ignored.
  void add(const ScalarSeriesView& series);

  // Returns the losses until a global step, included: those of the series that
  // a step minimizes first.
  std::span<const ScalarSample> until(Step step) const;

  // Returns the name of this series; empty without one.
  std::string_view name() const;

  // Returns why the losses until that step may rise, as in adversarial and
  // reinforcement learning: "the model is called more than once per step".
  // Empty if they should fall: there is one loss that is never negative, the
  // model is called once per step, and optimizers do not act in turn.
  std::string_view why_may_rise(Step step) const;

 private:
  std::map<std::string, std::vector<ScalarSample>, std::less<>> losses_;
  std::vector<ScalarSample> repeated_calls_;
  OptimizerTurns turns_;
};

}  // namespace smdebug
