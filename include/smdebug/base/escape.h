#pragma once

// Makes text safe to print. Names, messages and paths come from files of
// unknown origin: printed verbatim, they could move the cursor of a terminal or
// imitate other lines.

#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] smdebug {

/// Returns `text` as one line that is safe to print: control characters are
/// escaped ("\x1b", "\n"), as are bytes that are not UTF-8 ("\xff") and
/// characters that change the writing direction ("\u202e").
std::string printable(std::string_view text);

/// Same, but keeps line feeds.
std::string printable_lines(std::string_view text);

}  // namespace smdebug
