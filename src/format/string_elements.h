#pragma once

// The elements of a tensor of strings as they lie in its record
// (docs/format.md "Event files"): a key, a length and the string, one after
// another. Capture packs them so when it takes the tensor; what was packed is
// written as it is, like the elements of any other tensor.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smdebug {

// Returns how many bytes the packed strings take.
std::uint64_t string_elements_bytes(std::span<const std::string_view> strings);

// Returns the CRC-32C, not masked, of the packed strings.
std::uint32_t string_elements_crc32c(std::span<const std::string> strings);

// Packs strings piece by piece, so that they need not be together twice.
class StringElements {
 public:
  // `strings` outlives this.
  explicit StringElements(std::span<const std::string_view> strings)
      : strings_(strings) {}

  // Writes the next bytes, at most `max_bytes`, to `destination`; returns how
  // many. 0 at the end.
  std::size_t next(std::byte* destination, std::size_t max_bytes);

 private:
  // Writes as much of `part` as has a place behind `done`; returns whether
  // that was all of it.
  bool write(std::string_view part, std::span<std::byte> destination,
             std::size_t& done);

  std::span<const std::string_view> strings_;  // not yet written
  bool is_in_string_ = false;  // the first one's key and length are written
  std::size_t offset_ = 0;     // in the part that is being written
};

}  // namespace smdebug
