#pragma once

// Suggestions for error messages: existing names that are similar to an unknown
// one ("did you mean").

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// Returns up to `n` of `candidates`, the most similar first: those that contain
// `wanted`, then by edit distance. Ignores case.
std::vector<std::string> nearest_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n);

// Returns "'a', 'b'", with each name escaped (`printable`).
std::string quoted_list(std::span<const std::string> names);

}  // namespace smdebug
