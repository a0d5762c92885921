#pragma once

// A list of names in a message.

#include <span>
#include <string>

namespace smdebug {

// "a, b, c and 2 more".
std::string names_text(std::span<const std::string> names);

}  // namespace smdebug
