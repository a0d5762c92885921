#pragma once

// Finds what a name is that no tensor of a run has.

#include <string>

#include "smdebug/read/trial.h"

namespace smdebug {

// Returns "a series of numbers; read it in Python with trial.series("lr")" or
// "a collection; its tensors are 'a', 'b', 'c' and 5 more"; empty for a name of
// neither.
std::string other_kind_text(Trial& trial, const std::string& name);

}  // namespace smdebug
