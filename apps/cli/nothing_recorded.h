#pragma once

// Explains why a program that `smdebug run` started left no run.

#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/report/run_summary.h"

namespace smdebug {

// Returns one sentence. If the program is a Python interpreter, asks it whether
// it has the package smdebug, for at most 10 seconds.
std::string nothing_recorded(const RunSummary& summary, const Clock& clock);

}  // namespace smdebug
