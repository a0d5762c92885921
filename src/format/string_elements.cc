#include "format/string_elements.h"

#include <algorithm>
#include <cstring>
#include <protozero/varint.hpp>

#include "base/crc32c.h"

namespace smdebug {
namespace {

// Field 8 of a Tensor, length-delimited.
constexpr char kKey = 0x42;

// The key and the length that stand before a string.
class Head {
 public:
  explicit Head(std::size_t length) {
    bytes_[0] = kKey;
    size_ = 1 + static_cast<std::size_t>(
                    protozero::add_varint_to_buffer(bytes_.data() + 1, length));
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 1 + protozero::max_varint_length> bytes_;
  std::size_t size_;
};

std::uint32_t crc_after(std::string_view text, std::uint32_t crc) {
  return crc32c(std::as_bytes(std::span(text)), crc);
}

}  // namespace

std::uint64_t string_elements_bytes(std::span<const std::string_view> strings) {
  std::uint64_t bytes = 0;
  for (const std::string_view text : strings) {
    bytes += Head(text.size()).text().size() + text.size();
  }
  return bytes;
}

std::uint32_t string_elements_crc32c(std::span<const std::string> strings) {
  std::uint32_t crc = 0;
  for (const std::string& text : strings) {
    crc = crc_after(text, crc_after(Head(text.size()).text(), crc));
  }
  return crc;
}

std::size_t StringElements::next(std::byte* destination,
                                 std::size_t max_bytes) {
  const std::span<std::byte> room(destination, max_bytes);
  std::size_t done = 0;
  while (!strings_.empty()) {
    const std::string_view text = strings_.front();
    if (!is_in_string_) {
      if (!write(Head(text.size()).text(), room, done)) break;
      is_in_string_ = true;
    }
    if (!write(text, room, done)) break;
    is_in_string_ = false;
    strings_ = strings_.subspan(1);
  }
  return done;
}

bool StringElements::write(std::string_view part,
                           std::span<std::byte> destination,
                           std::size_t& done) {
  const std::size_t n =
      std::min(part.size() - offset_, destination.size() - done);
  if (n > 0) std::memcpy(destination.data() + done, part.data() + offset_, n);
  done += n;
  offset_ += n;
  if (offset_ < part.size()) return false;
  offset_ = 0;
  return true;
}

}  // namespace smdebug
