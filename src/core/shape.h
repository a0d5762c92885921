#pragma once

// How many elements a shape has.

#include <cstdint>
#include <span>

namespace smdebug {

// Returns the product of the extents: 1 for a scalar, 0 if an extent is 0. For
// shapes of tensors that exist; parsers check for overflow themselves.
constexpr std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace smdebug
