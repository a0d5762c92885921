#pragma once

// The course of a loss that does not fall, for LossNotDecreasing: its text, its
// fault and its numbers.

#include <optional>
#include <string>

#include "smdebug/rules/verdict.h"

#include "rules/builtin/loss_findings.h"
#include "rules/measures/learning_rates.h"
#include "rules/measures/loss_trend.h"

namespace smdebug {

// A loss that exceeds its first value by this factor leapt.
inline constexpr double kLossLeap = 1.5;
// One that rose by this factor diverges.
inline constexpr double kLossDivergence = 10;

// "the loss does not fall: 2.3 in the first steps, 2.3 after 90 steps". Empty
// for a course without a fault.
std::string course_text(const LossTrend::Answer& answer, Step steps);

// "; the learning rate of SGD is 0.1". Empty if it is unknown.
std::string rate_text(const std::optional<LearningRates::Rate>& rate);

// The fault of a course, in a training with this learning rate.
LossFault fault_of(const LossTrend::Answer& answer,
                   const std::optional<LearningRates::Rate>& rate);

// Sets the quantity that shows the fault, its value and its threshold.
void set_numbers(const LossTrend::Answer& answer, Evidence& evidence);

}  // namespace smdebug
