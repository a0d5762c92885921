#pragma once

// Lets an unordered container with keys of std::string find a string_view
// without a copy.

#include <cstddef>
#include <functional>
#include <string_view>

namespace smdebug {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace smdebug
