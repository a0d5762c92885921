#pragma once

// Names the steps that a tensor has, for messages about those it lacks.

#include <string>

#include "smdebug/core/mode.h"
#include "smdebug/read/tensor.h"

namespace smdebug {

// Returns "10 TRAIN steps from 0 to 50, 1 EVAL step from 3 to 3". Counts the
// steps of all modes too if `asked` is global.
std::string saved_steps_text(Tensor& tensor, Mode asked);

}  // namespace smdebug
