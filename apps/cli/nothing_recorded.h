#pragma once

// Explains why a program that `smdebug run` started left no run.

#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/report/run_summary.h"

namespace smdebug {

// Returns the first reason that the program gave why it is not recorded, and
// removes its file from the folder of the run; empty if it gave none.
std::string take_reason(const std::string& location);

// Returns a sentence without a heading that nothing was recorded. `reason` is
// that of `take_reason`. If the program is a Python interpreter, may ask it
// whether it has the package smdebug, for at most 10 seconds.
std::string nothing_recorded(const RunSummary& summary,
                             const std::string& reason, const Clock& clock);

}  // namespace smdebug
