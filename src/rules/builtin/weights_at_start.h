#pragma once

// The part of PoorWeightInitialization that judges the weights themselves.

#include <memory>
#include <span>

#include "smdebug/rules/rule.h"

namespace smdebug {

struct ScaleLimits {
  double largest = 0;
  double smallest = 0;
};

// `advice` has four rows: weights of 0, equal weights, too large ones and too
// small ones.
std::unique_ptr<Rule> weights_at_start(const ScaleLimits& limits,
                                       std::span<const Advice, 4> advice);

}  // namespace smdebug
