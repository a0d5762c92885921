#pragma once

// Reads tensors of any strides in C order, in pieces that stay in the cache.
// Copies only where the elements do not lie together.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "smdebug/core/tensor_view.h"

#include "reduce/gather.h"

namespace smdebug {

class Pieces {
 public:
  // `tensor` must outlive this, and holds no strings.
  explicit Pieces(const TensorView& tensor);

  // The bytes of the next elements, which stay until the next call; empty at
  // the end.
  std::span<const std::byte> next();

 private:
  const TensorView& tensor_;
  std::optional<Gather> gather_;
  std::vector<std::byte> copy_;
  std::size_t done_ = 0;
};

}  // namespace smdebug
