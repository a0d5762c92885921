#pragma once

// The elements of a tensor of strings, packed as in its record (docs/format.md,
// "Event files"): for each string its key, its length and its bytes. Capture
// packs the strings of a tensor; they are then written like the elements of any
// other tensor.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smdebug {

// Returns the size of the packed strings in bytes.
std::uint64_t string_elements_bytes(std::span<const std::string_view> strings);

// Returns the CRC-32C, not masked, of the packed strings.
std::uint32_t string_elements_crc32c(std::span<const std::string> strings);

// Packs strings piece by piece, without a second copy of all of them.
class StringElements {
 public:
  // `strings` must outlive this.
  explicit StringElements(std::span<const std::string_view> strings)
      : strings_(strings) {}

  // Writes the next bytes, at most `max_bytes`, to `destination`. Returns their
  // number, 0 at the end.
  std::size_t next(std::byte* destination, std::size_t max_bytes);

 private:
  // Writes as much of `part` as fits into `destination` after `done` bytes.
  // Returns whether it was written completely.
  bool write(std::string_view part, std::span<std::byte> destination,
             std::size_t& done);

  std::span<const std::string_view> strings_;  // not yet written
  bool is_in_string_ = false;  // the first one's key and length are written
  std::size_t offset_ = 0;     // in the part that is being written
};

}  // namespace smdebug
