#pragma once

// Names, messages and paths come out of files that anybody may have written.
// Before one reaches a terminal it goes through here, so that it can neither
// move the cursor nor pretend to be another line.

#include <string>
#include <string_view>

namespace smdebug {

/// Returns `text` as one line that is safe to show: control characters become
/// escapes ("\x1b", "\n"), as do bytes that are not UTF-8 ("\xff") and
/// characters that turn the direction of writing ("\u202e").
std::string printable(std::string_view text);

/// The same, but line feeds stay.
std::string printable_lines(std::string_view text);

}  // namespace smdebug
