#pragma once

// The version of this library, as run.json and `smdebug --version` show it.

#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] smdebug {

inline constexpr std::string_view kVersion = "2.0.0";

// The name of the Python package that pip installs; that of the original is
// smdebug.
inline constexpr std::string_view kDistribution = "smdebug-ng";

// Returns the commit that was built, as `git rev-parse --short` shows it; empty
// for sources without their history.
std::string_view commit();

// Returns "smdebug 2.0.0 (smdebug-ng, commit 1a2b3c4d)".
std::string version_text();

}  // namespace smdebug
