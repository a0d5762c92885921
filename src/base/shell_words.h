#pragma once

// Splits a command line into words as a POSIX shell does, with quotes and
// backslashes but without expansions: `$x`, `~`, `*` and `|` are ordinary
// characters. The counterpart is Python's shlex.split, with which other tools
// read the same files.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// Returns nothing if a quote is not closed or if a backslash ends the text.
std::optional<std::vector<std::string>> find_shell_words(std::string_view text);

}  // namespace smdebug
