#pragma once

// Names, messages and paths come from files of unknown origin. Before one
// reaches a terminal it passes through here, so that it can neither move the
// cursor nor imitate another line.

#include <string>
#include <string_view>

namespace smdebug {

/// Returns `text` as one line that is safe to print: control characters are
/// escaped ("\x1b", "\n"), as are bytes that are not UTF-8 ("\xff") and
/// characters that change the writing direction ("\u202e").
std::string printable(std::string_view text);

/// Same, but keeps line feeds.
std::string printable_lines(std::string_view text);

}  // namespace smdebug
