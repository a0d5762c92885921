#pragma once

// The types that flatc generates from arrow_file.fbs, and constants, for the
// writer and the parser of Arrow files.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "format/arrow_file_generated.h"

namespace smdebug {

inline constexpr std::string_view kArrowMagic = "ARROW1";
// Precedes the size of each message.
inline constexpr std::uint32_t kArrowContinuation = 0xffffffff;
// Of messages and buffers, in bytes.
inline constexpr std::size_t kArrowAlignment = 8;
// In the metadata of the footer: CRC-32C of all that precedes the footer, in
// 8 hexadecimal digits.
inline constexpr const char* kArrowChecksumKey = "smdebug.crc32c";

}  // namespace smdebug
