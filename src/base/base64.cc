#include "base/base64.h"

#include <array>
#include <cstdint>

namespace smdebug {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] =
        static_cast<std::uint8_t>(i);
  }
  return digits;
}();

Error bad_base64(std::string_view what) {
  return Error{Error::Code::corrupt, "base64: " + std::string(what)};
}

}  // namespace

void append_base64(std::span<const std::byte> bytes, std::string& out) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const std::size_t n = bytes.size() < 3 ? bytes.size() : 3;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < n; ++i) {
      group |= std::to_integer<std::uint32_t>(bytes[i]) << (16 - 8 * i);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= n ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
    }
    bytes = bytes.subspan(n);
  }
}

Result<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return bad_base64(std::to_string(text.size()) +
                      " characters, which is not a multiple of 4");
  }
  const std::size_t padding =
      text.ends_with("==") ? 2 : (text.ends_with('=') ? 1 : 0);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t digits = at + 4 == text.size() ? 4 - padding : 4;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const auto digit = kDigits[static_cast<unsigned char>(text[at + i])];
      if (digit == kNoDigit) {
        return bad_base64("bad character at " + std::to_string(at + i));
      }
      group |= std::uint32_t{digit} << (18 - 6 * i);
    }
    for (std::size_t i = 0; i + 1 < digits; ++i) {
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * i) & 255));
    }
    // The bits behind the last whole byte are zero in what an encoder writes.
    if ((group & 0xffffff >> 8 * (digits - 1)) != 0) {
      return bad_base64("stray bits at the end");
    }
  }
  return bytes;
}

}  // namespace smdebug
