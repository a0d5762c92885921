#pragma once

// `TensorView` is the form in which tensors cross every boundary of the
// library: a pointer, a dtype and a shape. It owns nothing. A function that
// takes one reads it before it returns, and copies the elements that it needs
// later.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "smdebug/core/dtype.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns the product of the extents: 1 for a scalar, 0 if an extent is 0.
/// Only for shapes of existing tensors: does not check for overflow.
constexpr std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// Same for a shape from a file or a user: returns nothing if an extent is
/// negative or the product overflows.
constexpr std::optional<std::int64_t> checked_element_count(
    std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return {};
  }
  return count;
}

struct TensorView {
  DType dtype = DType::float32;
  // The first element; null only if empty. The elements of a tensor of strings
  // are `std::string_view`s in C order, whatever the `strides`.
  const std::byte* data = nullptr;
  std::span<const std::int64_t> shape;  // empty for a 0-d tensor
  // In elements, one per dimension, any sign or zero. Empty: C order.
  std::span<const std::int64_t> strides;

  /// Returns the number of elements: the product of `shape`, 1 for a 0-d
  /// tensor.
  std::int64_t size() const { return element_count(shape); }

  /// Returns the size of the elements in bytes, in C order; 0 for strings.
  std::size_t bytes() const {
    return static_cast<std::size_t>(size()) * dtype_bytes(dtype);
  }

  /// Returns the elements of a tensor of strings.
  std::span<const std::string_view> strings() const {
    return {reinterpret_cast<const std::string_view*>(data),
            static_cast<std::size_t>(size())};
  }

  /// Returns true if the elements are in C order without gaps.
  bool is_contiguous() const;
};

}  // namespace smdebug
