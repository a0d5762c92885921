#include "reduce/pieces.h"

#include <algorithm>

namespace smdebug {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

}  // namespace

Pieces::Pieces(const TensorView& tensor) : tensor_(tensor) {
  if (!tensor.is_contiguous()) gather_.emplace(tensor);
}

std::span<const std::byte> Pieces::next() {
  const std::size_t element_bytes = dtype_bytes(tensor_.dtype);
  const std::size_t left = tensor_.bytes() - done_;
  const std::size_t bytes =
      std::min(left, kPieceBytes / element_bytes * element_bytes);
  if (bytes == 0) return {};
  const std::byte* from = tensor_.data + done_;
  if (gather_) {
    copy_.resize(bytes);
    gather_->next(copy_.data(), bytes / element_bytes);
    from = copy_.data();
  }
  done_ += bytes;
  return {from, bytes};
}

}  // namespace smdebug
