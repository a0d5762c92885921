#pragma once

// The version of this library, as run.json and `smdebug --version` show it.

#include <string_view>

namespace smdebug {

inline constexpr std::string_view kVersion = "2.0.0";

}  // namespace smdebug
