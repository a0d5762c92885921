#pragma once

// CRC-32C (Castagnoli) by ISA-L, which uses the instructions of the CPU.

#include <cstddef>
#include <cstdint>
#include <span>

namespace smdebug {

// Returns the checksum of the bytes with the checksum `previous` followed by
// `bytes`. Pass 0 to start.
std::uint32_t crc32c(std::span<const std::byte> bytes,
                     std::uint32_t previous = 0);

// Masks a checksum as TFRecord does: computing the CRC of bytes that contain
// CRCs is problematic.
constexpr std::uint32_t mask_crc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace smdebug
