#include "reduce/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace smdebug {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 2^exponent. Only small exponents occur, all exact.
constexpr double power_of_two(int exponent) {
  double value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

// The value of a float without its sign: a biased exponent above
// `mantissa_bits` of mantissa. Does not support infinities and NaN.
constexpr double small_float(unsigned magnitude, int mantissa_bits, int bias) {
  const int exponent = static_cast<int>(magnitude >> mantissa_bits);
  const int hidden = exponent == 0 ? 0 : 1 << mantissa_bits;
  const int mantissa =
      static_cast<int>(magnitude & ((1U << mantissa_bits) - 1)) + hidden;
  return mantissa * power_of_two(std::max(exponent, 1) - bias - mantissa_bits);
}

// 1 sign, 4 exponent, 3 mantissa bits; no infinity, one NaN per sign.
constexpr double float8_e4m3fn(unsigned bits) {
  const unsigned magnitude = bits & 0x7f;
  const double value = magnitude == 0x7f ? kNan : small_float(magnitude, 3, 7);
  return (bits & 0x80) != 0 ? -value : value;
}

// 1 sign, 5 exponent, 2 mantissa bits; infinities and NaN as in IEEE 754.
constexpr double float8_e5m2(unsigned bits) {
  const unsigned magnitude = bits & 0x7f;
  double value = magnitude == 0x7c ? kInf : kNan;
  if (magnitude < 0x7c) value = small_float(magnitude, 2, 15);
  return (bits & 0x80) != 0 ? -value : value;
}

// Unlike small_float, has no branch that depends on the element: with millions
// of elements of random sign, mispredictions would dominate.
constexpr double float16(unsigned bits) {
  const std::uint64_t magnitude = bits & 0x7fff;
  // Converts the exponent bias from 15 to 1023. Infinities and NaN get the
  // largest exponent.
  const std::uint64_t rebias = magnitude < 0x7c00 ? 1008 : 2016;
  const double normal =
      std::bit_cast<double>((magnitude << 42) + (rebias << 52));
  const double subnormal = static_cast<double>(magnitude) * 0x1p-24;
  const std::uint64_t sign = bits & 0x8000;
  return std::bit_cast<double>(
      std::bit_cast<std::uint64_t>(magnitude < 0x0400 ? subnormal : normal) |
      sign << 48);
}

constexpr auto kFloat8E4m3fn = [] {
  std::array<double, 256> values{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    values[bits] = float8_e4m3fn(bits);
  }
  return values;
}();

constexpr auto kFloat8E5m2 = [] {
  std::array<double, 256> values{};
  for (unsigned bits = 0; bits < 256; ++bits) values[bits] = float8_e5m2(bits);
  return values;
}();

template <typename T, typename Value>
void convert(const void* data, std::size_t count, double* out, Value value) {
  const auto* bytes = static_cast<const std::byte*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    out[i] = value(element);
  }
}

template <typename T>
void convert(const void* data, std::size_t count, double* out) {
  convert<T>(data, count, out, [](T x) { return static_cast<double>(x); });
}

template <typename T>
void convert_complex(const void* data, std::size_t count, double* out) {
  convert<std::array<T, 2>>(data, count, out, [](const auto& parts) {
    return std::hypot(static_cast<double>(parts[0]),
                      static_cast<double>(parts[1]));
  });
}

}  // namespace

void elements_to_doubles(DType dtype, const void* data, std::size_t count,
                         double* out) {
  switch (dtype) {
    case DType::float16:
      return convert<std::uint16_t>(data, count, out, float16);
    case DType::bfloat16:
      return convert<std::uint16_t>(data, count, out, [](std::uint32_t bits) {
        return static_cast<double>(std::bit_cast<float>(bits << 16));
      });
    case DType::float32:
      return convert<float>(data, count, out);
    case DType::float64:
      return convert<double>(data, count, out);
    case DType::float8_e4m3fn:
      return convert<std::uint8_t>(
          data, count, out, [](std::uint8_t x) { return kFloat8E4m3fn[x]; });
    case DType::float8_e5m2:
      return convert<std::uint8_t>(
          data, count, out, [](std::uint8_t x) { return kFloat8E5m2[x]; });
    case DType::int8:
      return convert<std::int8_t>(data, count, out);
    case DType::int16:
      return convert<std::int16_t>(data, count, out);
    case DType::int32:
      return convert<std::int32_t>(data, count, out);
    case DType::int64:
      return convert<std::int64_t>(data, count, out);
    case DType::uint8:
      return convert<std::uint8_t>(data, count, out);
    case DType::uint16:
      return convert<std::uint16_t>(data, count, out);
    case DType::uint32:
      return convert<std::uint32_t>(data, count, out);
    case DType::uint64:
      return convert<std::uint64_t>(data, count, out);
    case DType::boolean:
      return convert<std::uint8_t>(
          data, count, out, [](std::uint8_t x) { return x == 0 ? 0.0 : 1.0; });
    case DType::complex64:
      return convert_complex<float>(data, count, out);
    case DType::complex128:
      return convert_complex<double>(data, count, out);
    case DType::string:
    case DType::bytes:
      std::fill_n(out, count, kNan);
      return;
  }
}

}  // namespace smdebug
