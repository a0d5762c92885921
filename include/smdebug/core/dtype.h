#pragma once

// The element types that a tensor may have. Their numbers on disk are
// TensorFlow's and live in src/format/; their numbers in DLPack live in
// python/src/.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace [[gnu::visibility("default")]] smdebug {

// The type of a tensor's elements.
enum class DType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3fn,
  float8_e5m2,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  complex64,
  complex128,
  string,  // UTF-8 text
  bytes,   // strings of arbitrary bytes
};

inline constexpr std::size_t kDTypeCount = 19;

/// Returns true for `string` and `bytes`, whose elements vary in length.
constexpr bool is_string(DType dtype) {
  return dtype == DType::string || dtype == DType::bytes;
}

/// Returns the size of one element in bytes; 0 for strings.
std::size_t dtype_bytes(DType dtype);

/// Returns numpy's name: "float32", "bool", "bfloat16", "str", "bytes".
std::string_view dtype_name(DType dtype);

/// Returns the dtype with this numpy name, or none.
std::optional<DType> find_dtype(std::string_view name);

/// Returns true for float and complex types, which have NaN and infinity.
bool is_floating(DType dtype);

}  // namespace smdebug
