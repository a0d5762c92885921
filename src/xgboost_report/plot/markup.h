#pragma once

// Text in HTML and SVG. Names in a run are anybody's: every text that is not
// ours goes through here.

#include <string>
#include <string_view>

namespace smdebug {

// Returns `text` as one line without a character that markup knows. Control
// characters and bytes that are not UTF-8 become visible escapes.
std::string escaped(std::string_view text);

// Returns the first `characters` of `text`, with "…" where something was cut.
// Counts characters of UTF-8.
std::string shortened(std::string_view text, std::size_t characters);

}  // namespace smdebug
