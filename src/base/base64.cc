#include "base/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

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

// Encodes two digits at a time, for speed: every saved step encodes columns of
// statistics of all its tensors.
constexpr std::array<std::array<char, 2>, 4096> kDigitPairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = {kAlphabet[i / 64], kAlphabet[i % 64]};
  return pairs;
}();

std::uint32_t group_of(std::byte first, std::byte second, std::byte third) {
  return std::to_integer<std::uint32_t>(first) << 16 |
         std::to_integer<std::uint32_t>(second) << 8 |
         std::to_integer<std::uint32_t>(third);
}

Error bad_base64(std::string_view what) {
  return Error{Error::Code::corrupt, "base64: " + std::string(what)};
}

}  // namespace

void append_base64(std::span<const std::byte> bytes, std::string& out) {
  const std::size_t start = out.size();
  out.resize(start + (bytes.size() + 2) / 3 * 4, '=');
  char* to = out.data() + start;
  while (bytes.size() >= 3) {
    const std::uint32_t group = group_of(bytes[0], bytes[1], bytes[2]);
    std::memcpy(to, kDigitPairs[group >> 12].data(), 2);
    std::memcpy(to + 2, kDigitPairs[group & 4095].data(), 2);
    to += 4;
    bytes = bytes.subspan(3);
  }
  if (bytes.empty()) return;
  const std::uint32_t group =
      group_of(bytes[0], bytes.size() == 2 ? bytes[1] : std::byte(0), {});
  std::memcpy(to, kDigitPairs[group >> 12].data(), 2);
  if (bytes.size() == 2) to[2] = kAlphabet[group >> 6 & 63];
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
    // Encoders set the bits after the last whole byte to zero.
    if ((group & 0xffffff >> 8 * (digits - 1)) != 0) {
      return bad_base64("stray bits at the end");
    }
  }
  return bytes;
}

}  // namespace smdebug
