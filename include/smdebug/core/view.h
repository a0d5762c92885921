#pragma once

// Makes a `TensorView` of numbers in memory, and copies the numbers of a view
// back, so that a program names neither a dtype nor bytes:
//
//     slot.put(view(loss));
//     slot.put(view(weights, {rows, columns}));
//     const Result<std::vector<float>> numbers = elements<float>(value.view());
//
// A view refers to the numbers and to the shape. A shape in braces lives until
// the end of the full expression: pass such a view on, do not keep it.

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/dtype.h"
#include "smdebug/core/tensor_view.h"

namespace [[gnu::visibility("default")]] smdebug {

// The arithmetic types of C++ that a tensor may have: bool, integers, float,
// double, and complex numbers of the last two. Characters are text.
template <typename T>
concept ElementType = std::same_as<T, bool> || std::same_as<T, float> ||
    std::same_as<T, double> || std::same_as<T, std::complex<float>> ||
    std::same_as<T, std::complex<double>> ||
    (std::integral<T> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
     !std::same_as<T, char8_t> && !std::same_as<T, char16_t> &&
     !std::same_as<T, char32_t> && sizeof(T) <= 8);

/// Returns the dtype of elements of type `T`.
template <ElementType T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, bool>) return DType::boolean;
  if constexpr (std::same_as<T, float>) return DType::float32;
  if constexpr (std::same_as<T, double>) return DType::float64;
  if constexpr (std::same_as<T, std::complex<float>>) return DType::complex64;
  if constexpr (std::same_as<T, std::complex<double>>) return DType::complex128;
  if constexpr (std::is_signed_v<T>) {
    if constexpr (sizeof(T) == 1) return DType::int8;
    if constexpr (sizeof(T) == 2) return DType::int16;
    if constexpr (sizeof(T) == 4) return DType::int32;
    return DType::int64;
  } else {
    if constexpr (sizeof(T) == 1) return DType::uint8;
    if constexpr (sizeof(T) == 2) return DType::uint16;
    if constexpr (sizeof(T) == 4) return DType::uint32;
    return DType::uint64;
  }
}

// Numbers in one piece of memory, such as a vector, a span or an array. A
// `std::vector<bool>` is none.
template <typename Range>
concept ElementRange =
    std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    ElementType<std::ranges::range_value_t<Range>>;

/// Returns a view of `count` elements at `first` in the given shape. If it is
/// not the shape of that many elements, returns a view without elements, which
/// a session skips with a log message.
TensorView view_of_elements(DType dtype, const void* first, std::size_t count,
                            std::span<const std::int64_t> shape);

/// Returns a view of one number, without dimensions.
template <ElementType T>
TensorView view(const T& number) {
  return view_of_elements(dtype_of<T>(), &number, 1, {});
}

/// Returns a view of `elements`, in C order; see `view_of_elements`.
template <ElementRange Range>
TensorView view(const Range& elements, std::span<const std::int64_t> shape) {
  return view_of_elements(dtype_of<std::ranges::range_value_t<Range>>(),
                          std::ranges::data(elements),
                          std::ranges::size(elements), shape);
}
template <ElementRange Range>
TensorView view(const Range& elements,
                std::initializer_list<std::int64_t> shape) {
  return view(elements,
              std::span<const std::int64_t>(shape.begin(), shape.size()));
}

/// Fails with `invalid_argument` if the elements of `tensor` are not of that
/// dtype, and with `unsupported` if they are not in C order without gaps.
Status check_elements(const TensorView& tensor, DType dtype);

/// Returns a copy of the elements, in C order. Fails as `check_elements`.
template <ElementType T>
Result<std::vector<T>> elements(const TensorView& tensor) {
  if (Status status = check_elements(tensor, dtype_of<T>()); !status)
    return std::move(status).error();
  std::vector<T> copied(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < copied.size(); ++i) {
    // The elements of a file need not be aligned.
    std::conditional_t<std::same_as<T, bool>, std::uint8_t, T> element;
    std::memcpy(&element, tensor.data + i * sizeof(T), sizeof(T));
    copied[i] = static_cast<T>(element);
  }
  return copied;
}

}  // namespace smdebug
