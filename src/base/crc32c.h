#pragma once

// CRC-32C (Castagnoli), by ISA-L, which uses the CPU's own instruction.

#include <cstddef>
#include <cstdint>
#include <span>

namespace smdebug {

// Returns the checksum of `bytes` after those that gave `previous`; pass 0 to
// start.
std::uint32_t crc32c(std::span<const std::byte> bytes,
                     std::uint32_t previous = 0);

// TFRecord's masking: a checksum that is stored beside its bytes must not look
// like one of them.
constexpr std::uint32_t mask_crc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace smdebug
