#pragma once

// Reads times as services write them. `utc_text` (smdebug/base/clock.h) writes
// them.

#include <optional>
#include <string_view>

namespace smdebug {

// Returns the seconds since the Unix epoch of a time in ISO 8601:
// "2015-08-30T12:36:00Z", with an optional fraction of the second, and "UTC",
// "+02:00", "+0200" or nothing (UTC) in place of the "Z". Returns nothing for
// any other text.
std::optional<double> find_iso_seconds(std::string_view text);

}  // namespace smdebug
