#include "format/string_elements.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "format/protobuf_fields.h"

namespace smdebug {
namespace {

// Returns the key and the length before a string of this length: field 8 of a
// Tensor.
std::string head_of(std::size_t length) {
  std::string head;
  append_field_head(0x42, length, head);
  return head;
}

std::uint32_t crc_after(std::string_view text, std::uint32_t crc) {
  return crc32c(std::as_bytes(std::span(text)), crc);
}

}  // namespace

std::uint64_t string_elements_bytes(std::span<const std::string_view> strings) {
  std::uint64_t bytes = 0;
  for (const std::string_view text : strings) {
    bytes += field_bytes(text.size());
  }
  return bytes;
}

std::uint32_t string_elements_crc32c(std::span<const std::string> strings) {
  std::uint32_t crc = 0;
  for (const std::string& text : strings) {
    crc = crc_after(text, crc_after(head_of(text.size()), crc));
  }
  return crc;
}

std::size_t StringElements::next(std::byte* destination,
                                 std::size_t max_bytes) {
  const std::span<std::byte> buffer(destination, max_bytes);
  std::size_t done = 0;
  while (!strings_.empty()) {
    const std::string_view text = strings_.front();
    if (!is_in_string_) {
      if (!write(head_of(text.size()), buffer, done)) break;
      is_in_string_ = true;
    }
    if (!write(text, buffer, done)) break;
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
