#pragma once

// What every storage accepts as a key: a relative path of plain names.

#include <string_view>

#include "smdebug/base/result.h"

namespace smdebug {

// What a name ends with while its object is being written.
inline constexpr std::string_view kUnfinishedSuffix = ".tmp";

// Fails with `invalid_argument` where `key` is empty or absolute, could leave
// the run, holds a NUL, or looks like an unfinished object.
Status check_key(std::string_view key);

}  // namespace smdebug
