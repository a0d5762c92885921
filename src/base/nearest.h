#pragma once

// "Did you mean": the names that an error message offers in place of one that
// does not exist.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// Returns up to `n` of `candidates`, the most similar first: those that
// contain `wanted`, then by edit distance, without regard to case.
std::vector<std::string> nearest_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n);

// Returns "'a', 'b'", each name printable.
std::string quoted_list(std::span<const std::string> names);

}  // namespace smdebug
