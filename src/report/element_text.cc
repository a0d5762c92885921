#include "report/element_text.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace smdebug {
namespace {

constexpr std::int64_t kShown = 4;  // at each end

template <typename T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

// Decodes a float of a sign bit, `exponent_bits` and `mantissa_bits`. With
// `has_inf`, the largest exponent encodes infinity and NaN, as in IEEE 754;
// without it, only the pattern of all ones is NaN (float8_e4m3fn).
double decode(unsigned bits, int exponent_bits, int mantissa_bits,
              bool has_inf) {
  const unsigned mantissa_mask = (1u << mantissa_bits) - 1;
  const unsigned exponent_mask = (1u << exponent_bits) - 1;
  const unsigned mantissa = bits & mantissa_mask;
  const unsigned exponent = bits >> mantissa_bits & exponent_mask;
  const bool negative = bits >> (mantissa_bits + exponent_bits) & 1;
  const int bias = static_cast<int>(exponent_mask >> 1);
  double value = 0;
  if (exponent == exponent_mask && (has_inf || mantissa == mantissa_mask)) {
    value = has_inf && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(mantissa | 1u << mantissa_bits,
                       static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return negative ? -value : value;
}

std::string real_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
}

template <typename T>
std::string complex_text(const std::byte* element) {
  return fmt::format("{:.6g}{:+.6g}j", load<T>(element),
                     load<T>(element + sizeof(T)));
}

// Returns quoted text. Escapes bytes except printable ASCII, as Python does.
std::string string_text(DType dtype, std::string_view element) {
  if (dtype == DType::string) return fmt::format("'{}'", element);
  std::string text = "b'";
  for (const char c : element) {
    const bool is_plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
    text += is_plain ? std::string(1, c)
                     : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + "'";
}

std::string element_text(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::float16:
      return real_text(decode(load<std::uint16_t>(element), 5, 10, true));
    case DType::bfloat16:
      return real_text(decode(load<std::uint16_t>(element), 8, 7, true));
    case DType::float32:
      return real_text(load<float>(element));
    case DType::float64:
      return real_text(load<double>(element));
    case DType::float8_e4m3fn:
      return real_text(decode(load<std::uint8_t>(element), 4, 3, false));
    case DType::float8_e5m2:
      return real_text(decode(load<std::uint8_t>(element), 5, 2, true));
    case DType::int8:
      return std::to_string(load<std::int8_t>(element));
    case DType::int16:
      return std::to_string(load<std::int16_t>(element));
    case DType::int32:
      return std::to_string(load<std::int32_t>(element));
    case DType::int64:
      return std::to_string(load<std::int64_t>(element));
    case DType::uint8:
      return std::to_string(load<std::uint8_t>(element));
    case DType::uint16:
      return std::to_string(load<std::uint16_t>(element));
    case DType::uint32:
      return std::to_string(load<std::uint32_t>(element));
    case DType::uint64:
      return std::to_string(load<std::uint64_t>(element));
    case DType::boolean:
      return load<std::uint8_t>(element) ? "True" : "False";
    case DType::complex64:
      return complex_text<float>(element);
    case DType::complex128:
      return complex_text<double>(element);
    case DType::string:
    case DType::bytes:
      break;
  }
  return "?";
}

}  // namespace

std::string elements_text(const TensorValue& value) {
  const TensorView view = value.view();
  const std::int64_t size = view.size();
  std::string text = "[";
  for (std::int64_t i = 0; i < size; ++i) {
    if (i > 0) text += ", ";
    if (size > 2 * kShown && i == kShown) {
      text += "..., ";
      i = size - kShown;
    }
    const auto place = static_cast<std::size_t>(i);
    text += is_string(view.dtype)
                ? string_text(view.dtype, view.strings()[place])
                : element_text(view.dtype,
                               view.data + place * dtype_bytes(view.dtype));
  }
  return text + "]";
}

}  // namespace smdebug
