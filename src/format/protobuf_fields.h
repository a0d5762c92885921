#pragma once

// The parts of protobuf's wire format that writing records requires. Sizes are
// computed first, so that each message is written directly into its buffer.
// protozero reads records.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace smdebug {

// The keys on the path to a value of an event: field number << 3 | wire type.
enum EventKey : char {
  kEventWallTime = 0x09,
  kEventStep = 0x10,
  kEventSummary = 0x2a,
  kSummaryValue = 0x0a,
  kValueTag = 0x0a,
};

static_assert(std::endian::native == std::endian::little,
              "records hold little-endian numbers, copied as they are");

inline std::size_t varint_bytes(std::uint64_t value) {
  return static_cast<std::size_t>(std::bit_width(value | 1) + 6) / 7;
}

inline void append_varint(std::uint64_t value, std::string& out) {
  constexpr std::size_t kMaxVarintBytes = 10;
  std::array<char, kMaxVarintBytes> bytes;
  std::size_t n = 0;
  for (; value >= 0x80; value >>= 7) {
    bytes[n++] = static_cast<char>(value | 0x80);
  }
  bytes[n++] = static_cast<char>(value);
  out.append(bytes.data(), n);
}

// Appends the bytes of a number, without a key.
template <typename T>
void append_number(T value, std::string& out) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

// `key` is the field number << 3 | wire type.
inline void append_field(char key, std::string_view content, std::string& out) {
  out.push_back(key);
  append_varint(content.size(), out);
  out.append(content);
}

// Appends the key and length of a field; its content follows.
inline void append_field_head(char key, std::uint64_t bytes, std::string& out) {
  out.push_back(key);
  append_varint(bytes, out);
}

inline std::uint64_t field_bytes(std::uint64_t content_bytes) {
  return 1 + varint_bytes(content_bytes) + content_bytes;
}

}  // namespace smdebug
