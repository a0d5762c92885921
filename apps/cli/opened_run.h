#pragma once

// Opens a run that a sub-command was given, at once: a run that is not there
// is a mistake of the user.

#include <memory>
#include <string>

#include "smdebug/read/trial.h"

#include "console.h"

namespace smdebug {

// Fails as `Trial::open`, with `not_found` where no run is.
Result<std::unique_ptr<Trial>> open_run(const std::string& location,
                                        const Console& console);

}  // namespace smdebug
