#pragma once

// Counts with their noun, for messages.

#include <cstdint>
#include <string>
#include <string_view>

namespace smdebug {

// Returns "1 step", "2 steps", "0 steps".
std::string count_text(std::uint64_t count, std::string_view singular);

}  // namespace smdebug
