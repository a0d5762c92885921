#pragma once

// Reads strided tensors in C order, piece by piece, so that a strided tensor
// is never copied whole before it is looked at.

#include <cstddef>
#include <cstdint>

#include "smdebug/core/tensor_view.h"

namespace smdebug {

// Walks the elements of `view` in C order. Keeps no reference to its shape and
// strides. Strings have no elements that could be walked.
class Gather {
 public:
  explicit Gather(const TensorView& view);

  // Copies the next elements, at most `max_elements`, to `destination`;
  // returns how many. 0 at the end.
  std::size_t next(void* destination, std::size_t max_elements);

 private:
  // Adds the next dimension outward, or merges it with the one inside it.
  void append(std::int64_t extent, std::int64_t stride);
  // Moves behind `run` elements of the innermost dimension.
  void advance(std::int64_t run);
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(element_bytes_);
  }

  const std::byte* data_;  // the next element
  std::size_t element_bytes_;
  std::size_t remaining_;
  int rank_ = 0;
  // Extents and strides (in bytes) after dimensions that lie together were
  // merged; position of the next element. The innermost dimension comes first.
  // 2^64 elements have no more dimensions than this.
  static constexpr int kMaxRank = 64;
  std::int64_t extent_[kMaxRank];
  std::int64_t stride_[kMaxRank];
  std::int64_t index_[kMaxRank];
};

}  // namespace smdebug
