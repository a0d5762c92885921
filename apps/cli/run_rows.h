#pragma once

// Reads the row of a run for `smdebug ls`: from `progress.json` and the
// statuses of its rules, and only without a valid `progress.json` from its
// index.

#include <string>

#include "smdebug/report/run_list.h"

#include "console.h"

namespace smdebug {

// Returns the row of the run at `run`. A run that cannot be read has a row with
// the reason.
RunRow read_run_row(const std::string& run, const Console& console);

}  // namespace smdebug
