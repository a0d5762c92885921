#pragma once

// The loss of a classifier that gives each class the same probability, which is
// what a model with random weights should begin with.

#include <cstdint>
#include <optional>

#include "smdebug/core/run_facts.h"

namespace smdebug {

struct Guess {
  std::int64_t classes = 0;
  double loss = 0;
};

// Returns it for the only loss of a training, if that is a mean cross entropy.
std::optional<Guess> guess_of(const RunFacts& facts);

}  // namespace smdebug
