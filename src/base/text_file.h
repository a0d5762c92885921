#pragma once

// Reads small text files that are not part of a run, such as configurations.
// The files of a run are read through `Storage`.

#include <string>

#include "smdebug/base/result.h"

namespace smdebug {

// Returns the whole file. Fails with `not_found` if it does not exist and with
// `io` if it cannot be read; both messages name the path.
Result<std::string> read_text_file(const std::string& path);

}  // namespace smdebug
