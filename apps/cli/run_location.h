#pragma once

// Where `smdebug run` records.

#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

#include "command_line.h"

namespace smdebug {

// Creates the folder and returns its absolute path: what the user gave, or
// "smdebug-runs/<script>-<time>" below the working directory. Fails with
// `invalid_argument` where files are there already, and with `io`.
Result<std::string> create_run_location(const RunCommand& command,
                                        const Clock& clock);

// Removes the folder again where nothing was written into it.
void remove_if_empty(const std::string& location);

// Returns the name of the script among the trainer's words: "train" of
// "python -u train.py --lr 1"; the program's where there is none.
std::string script_name(const std::vector<std::string>& trainer);

}  // namespace smdebug
