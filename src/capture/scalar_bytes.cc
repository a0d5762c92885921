#include "capture/scalar_bytes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace smdebug {
namespace {

// Rounding a double to float first could round twice, but never to another
// 16-bit neighbour than torch's own float-to-half conversion gives.
std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00;  // above the largest, rounded
  if (size < 0x1p-14f) {                       // subnormal: a multiple of 2^-24
    return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24f));
  }
  std::uint32_t rounded = std::bit_cast<std::uint32_t>(size);
  rounded += 0xfff + (rounded >> 13 & 1);
  // From an exponent bias of 127 to one of 15.
  return sign | static_cast<std::uint16_t>((rounded >> 13) - (112u << 10));
}

template <typename T>
std::size_t store(T value, std::span<std::byte, 8> bytes) {
  std::memcpy(bytes.data(), &value, sizeof(value));
  return sizeof(value);
}

}  // namespace

DType reduced_dtype(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
      return dtype;
    case DType::complex64:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return DType::float32;
    default:
      return DType::float64;
  }
}

std::size_t scalar_bytes(DType dtype, double value,
                         std::span<std::byte, 8> bytes) {
  switch (dtype) {
    case DType::float16:
      return store(float16_bits(static_cast<float>(value)), bytes);
    case DType::bfloat16:
      return store(bfloat16_bits(static_cast<float>(value)), bytes);
    case DType::float32:
      return store(static_cast<float>(value), bytes);
    default:
      return store(value, bytes);
  }
}

}  // namespace smdebug
