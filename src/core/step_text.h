#pragma once

// How messages and tables write a step.

#include <string>

#include "smdebug/core/mode.h"

namespace smdebug {

// Returns "step 40 (TRAIN step 12)", or "step 40" if the run has no modes. If
// only one of the two numbers is known, it is "step 40" or "TRAIN step 12".
std::string step_text(const StepId& step);

// Returns "TRAIN step 12", or "step 12" for mode `global`.
std::string step_text(Step step, Mode mode);

// Returns "40 (TRAIN 12)", or "40" if the run has no modes. For a table cell.
std::string step_number_text(const StepId& step);

}  // namespace smdebug
