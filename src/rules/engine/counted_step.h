#pragma once

// Which steps a rule counts that looks at how a training goes.

#include <optional>

#include "smdebug/core/mode.h"

namespace smdebug {

// Returns the number under which `mode` counts `step`, or none where it is a
// step of another mode. Without a mode the steps that train are counted: those
// of TRAIN, and all of a run without modes.
std::optional<Step> counted_step(const StepId& step, std::optional<Mode> mode);

}  // namespace smdebug
