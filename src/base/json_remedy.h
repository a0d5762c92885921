#pragma once

// Remedies for texts that are almost JSON.

#include <cstddef>
#include <string>
#include <string_view>

namespace smdebug {

// Returns what to do about a usual mistake at the byte `offset`, where a parser
// stopped: "remove the comma before '}'". Empty for any other mistake.
std::string json_remedy(std::string_view text, std::size_t offset);

}  // namespace smdebug
