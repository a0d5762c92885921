#include "base/crc32c.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace smdebug {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  // ISA-L takes the length as an int and does not invert the value at the start
  // and end.
  constexpr std::size_t kChunkBytes = std::size_t{1} << 30;
  std::uint32_t state = ~previous;
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kChunkBytes);
    // ISA-L only reads through this pointer.
    auto* data = const_cast<unsigned char*>(
        reinterpret_cast<const unsigned char*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(n), state);
    bytes = bytes.subspan(n);
  }
  return ~state;
}

}  // namespace smdebug
