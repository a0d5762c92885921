#pragma once

// The runs that a command is given: their names, or a pattern that stands for
// all runs below a folder.

#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"

#include "find_runs.h"

namespace smdebug {

// Whether the name is a pattern, and no folder really has it.
bool is_pattern(const std::string& location);

// Returns `locations` in their order, with "FOLDER/*" replaced by the runs that
// `find_runs` finds below the folder or the prefix of a store. "*" stands for
// those below the working directory. Fails with `not_found` if there are none,
// and as `find_runs`.
Result<FoundRuns> expand_patterns(std::span<const std::string> locations);

}  // namespace smdebug
