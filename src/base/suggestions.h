#pragma once

// Suggestions for error messages: existing names that are similar to an unknown
// one ("did you mean").

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// Returns up to `n` of `candidates`, the most similar first: those of which
// `wanted` is a component of the path, those that contain it, those that
// contain its words in their order, then by edit distance. Ignores case.
std::vector<std::string> nearest_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n);

// Returns those of the nearest names that contain `wanted` or its words, or of
// which less than half of the letters differ from it.
std::vector<std::string> similar_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n);

// Returns "; similar: 'a', 'b'" with up to three such names; empty if there is
// none.
std::string similar_text(std::string_view wanted,
                         std::span<const std::string> candidates);

// Returns the candidate of which `wanted` is a misspelling, with at most two
// wrong letters; none if there is none. Ignores case.
std::optional<std::string> misspelled_name(
    std::string_view wanted, std::span<const std::string> candidates);

// Returns "'a', 'b'", with each name escaped (`printable`).
std::string quoted_list(std::span<const std::string> names);

// Returns "'a', 'b' or 'c'", with each name escaped.
std::string quoted_choice(std::span<const std::string> names);

}  // namespace smdebug
