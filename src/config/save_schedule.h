#pragma once

// The steps of a `SaveConfigMode` as text and around a step, for messages about
// a step that it does not save.

#include <optional>
#include <string>

#include "smdebug/config/save_config.h"

namespace smdebug {

// "every 10 steps from 5 on below 100, and at 3", "never".
std::string schedule_text(const SaveConfigMode& config);

// Return the last due step before `step` and the first one after it.
std::optional<Step> due_before(const SaveConfigMode& config, Step step);
std::optional<Step> due_after(const SaveConfigMode& config, Step step);

}  // namespace smdebug
