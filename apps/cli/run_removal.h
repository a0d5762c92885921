#pragma once

// Removes runs for `smdebug rm`. It removes the files that a run consists of
// and the folders that are empty then, never follows a link, and keeps
// everything else.

#include <string>

#include "smdebug/base/result.h"
#include "smdebug/report/removal_text.h"

#include "console.h"

namespace smdebug {

// Finds the files to remove. Fails with `not_found` if there is no run, and
// with `invalid_argument` if `run` is a link or, unless `is_forced`, if the run
// may still be written.
Result<RunRemoval> plan_removal(const std::string& run, bool is_forced,
                                const Console& console);

// Removes the files. If it is interrupted, the rest is still a run that can be
// removed. Fails with `io`.
Status remove_run(const RunRemoval& removal);

}  // namespace smdebug
