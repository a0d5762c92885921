#pragma once

// Small text files that lie beside a run: configurations. What belongs to a
// run is read through `Storage`.

#include <string>

#include "smdebug/base/result.h"

namespace smdebug {

// Returns the whole file. Fails with `not_found` where there is none and with
// `io` where it cannot be read; both name the path.
Result<std::string> read_text_file(const std::string& path);

}  // namespace smdebug
