#pragma once

// Reads strided tensors in C order, piece by piece, without a copy of the whole
// tensor.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "smdebug/core/tensor_view.h"

namespace smdebug {

// Returns how often a view shows each of its elements: the product of the
// extents with stride 0, as of a tensor that was expanded. 1 for an empty view.
std::uint64_t repeats_of(const TensorView& view);

// Copies the elements of `view` in C order. Keeps no reference to its shape and
// strides. Tensors of strings have no elements to copy.
class Gather {
 public:
  // Whether an element that the view shows several times is copied as often.
  enum class Repeats { copied, omitted };

  explicit Gather(const TensorView& view, Repeats repeats = Repeats::copied);

  // Copies the next elements, at most `max_elements`, to `destination`. Returns
  // their number, 0 at the end.
  std::size_t next(void* destination, std::size_t max_elements);

 private:
  // Adds the next dimension outward, or merges it with the one inside it.
  void append(std::int64_t extent, std::int64_t stride);
  // Skips `run` elements of the innermost dimension.
  void advance(std::int64_t run);
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(element_bytes_);
  }

  const std::byte* data_;  // the next element
  std::size_t element_bytes_;
  std::size_t remaining_;
  int rank_ = 0;
  // Extents and strides (in bytes) after adjacent dimensions were merged, and
  // the index of the next element. The innermost dimension comes first. Merged
  // dimensions have an extent of at least 2, so 2^64 elements have at most 64.
  static constexpr int kMaxRank = 64;
  std::int64_t extent_[kMaxRank];
  std::int64_t stride_[kMaxRank];
  std::int64_t index_[kMaxRank];
};

// Reads a tensor of any strides in C order, in pieces that fit in the cache.
// Copies only elements that are not contiguous.
class Pieces {
 public:
  // `tensor` must outlive this and must not hold strings.
  explicit Pieces(const TensorView& tensor);

  // Returns the bytes of the next elements, valid until the next call. Empty at
  // the end.
  std::span<const std::byte> next();

 private:
  const TensorView& tensor_;
  std::optional<Gather> gather_;
  std::vector<std::byte> copy_;
  std::size_t done_ = 0;
};

}  // namespace smdebug
