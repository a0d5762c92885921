#pragma once

// The steps that are counted by rules that judge the progress of a training.

#include <optional>

#include "smdebug/core/mode.h"

namespace smdebug {

// Returns the number of `step` in `mode`, or none if it is a step of another
// mode. Training steps, counted for TRAIN and without `mode`, are those of
// TRAIN or all steps of a run without modes.
std::optional<Step> counted_step(const StepId& step, std::optional<Mode> mode);

}  // namespace smdebug
