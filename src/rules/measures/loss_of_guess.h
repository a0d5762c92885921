#pragma once

// The loss of a model that knows nothing, which is what one with random weights
// should begin with: of a classifier, that which gives each class the same
// probability.

#include <cstdint>
#include <optional>

#include "smdebug/core/run_facts.h"

namespace smdebug {

// A loss is near that of a guess up to this multiple of it.
inline constexpr double kNearGuess = 1.03;

struct Guess {
  std::int64_t classes = 0;
  double loss = 0;
};

// Returns it for the only loss of a training, if that is a mean cross entropy.
std::optional<Guess> guess_of(const RunFacts& facts);

// Returns the loss of the best constant prediction, for the only loss of a
// training, if that is a mean squared error: the variance of the targets.
std::optional<double> loss_of_constant(const RunFacts& facts);

// Returns the loss of a model with the same output for all samples, for the
// only loss of a training, if that is a triplet margin loss: the margin.
std::optional<double> loss_of_equal_outputs(const RunFacts& facts);

// Returns the loss of a model whose outputs are 0, for the only loss of a
// training: that of the guess or, for a mean squared error, the mean square of
// the targets.
std::optional<double> loss_of_zeros(const RunFacts& facts);

}  // namespace smdebug
