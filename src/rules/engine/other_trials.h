#pragma once

// The runs to compare with, as the cloud spells them: one parameter each.

#include <map>
#include <span>
#include <string>

#include "smdebug/rules/parameters.h"

namespace smdebug {

// Returns `given` with "other_trial" and "other_trial_0", "other_trial_1", ...
// added to "other_trials", if the rule's table has that; else as it is.
std::map<std::string, std::string> with_other_trials(
    std::span<const ParameterSpec> table,
    std::map<std::string, std::string> given);

}  // namespace smdebug
