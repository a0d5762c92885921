#pragma once

// Damages files of Arrow in a way that their checksum does not show.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/crc32c.h"

namespace smdebug {

// Returns `file` with the checksum of what precedes its footer, which has
// `footer_bytes` bytes with the eight after it.
inline std::string with_its_checksum(std::string file,
                                     std::size_t footer_bytes) {
  constexpr std::string_view kKey = "smdebug.crc32c";
  const std::size_t end = file.size() - std::min(footer_bytes, file.size());
  const std::string crc =
      fmt::format("{:08x}", crc32c(std::as_bytes(std::span(file)).first(end)));
  // The value lies before or after its key.
  for (std::size_t i = end; i + crc.size() <= file.size(); ++i) {
    const auto digits = std::string_view(file).substr(i, crc.size());
    const bool is_value =
        digits.find_first_not_of("0123456789abcdef") == digits.npos &&
        file.find(kKey, end) != file.npos;
    if (is_value) file.replace(i, crc.size(), crc);
  }
  return file;
}

// The size of the footer and of what follows it, as the file gives it.
inline std::size_t footer_bytes_of(std::string_view file) {
  constexpr std::size_t kTail = 10;  // the size and the magic
  if (file.size() < kTail) return 0;
  std::uint32_t size = 0;
  std::copy_n(file.data() + file.size() - kTail, sizeof size,
              reinterpret_cast<char*>(&size));
  return size + kTail;
}

}  // namespace smdebug
