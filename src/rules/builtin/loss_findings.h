#pragma once

// The findings of LossNotDecreasing, in one place for its two ways to judge.

#include <optional>
#include <span>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

enum class LossFault {
  not_finite,
  grew_until_not_finite,
  suddenly_not_finite,
  // Of two losses that are compared:
  rose,
  unchanged,
  // Of the course of a loss:
  constant,
  zero,
  still,
  still_at_low_rate,
  still_after_decay,
  leapt,
  rises,
  diverges,
  returned,
  oscillates,
  plunges,
  still_at_usual_rate,
  trees_without_splits,
  trees_at_rest,
  trees_still,
  trees_at_low_rate,
  trees_of_wrong_sign,
  trees_rise,
  trees_of_wrong_curvature,
  equal_outputs,
  dropped_out,
  worse_than_constant,
};

// In the order of `LossFault`.
std::span<const Advice> loss_advice();

const Advice& advice_on(LossFault fault);

// Adds a finding about a further loss. The message describes the first loss,
// the evidence lists all.
void merge(std::optional<Finding>& finding, Finding more);

// A finding about `value`, a loss that is not finite.
Finding not_finite_finding(Evidence evidence, double value,
                           LossFault fault = LossFault::not_finite);

}  // namespace smdebug
