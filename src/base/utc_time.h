#pragma once

// Wall time as texts that other programs read.

#include <string>
#include <string_view>

namespace smdebug {

inline constexpr std::string_view kIsoTime = "%Y-%m-%dT%H:%M:%SZ";

// The second that `wall_seconds`, counted from the Unix epoch, falls into, in
// UTC, by a pattern of strftime. A time before 1970 or after the year 9999
// becomes the nearest one between.
std::string utc_text(double wall_seconds, std::string_view pattern = kIsoTime);

}  // namespace smdebug
