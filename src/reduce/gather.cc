#include "reduce/gather.h"

#include <algorithm>
#include <cstring>

namespace smdebug {
namespace {

// Copies `count` elements. The size is a constant, so that memcpy becomes a
// load and a store.
template <std::size_t kBytes>
void copy_strided(const std::byte* from, std::int64_t stride, std::size_t count,
                  std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kBytes, from, kBytes);
    from += stride;
  }
}

void copy_run(const std::byte* from, std::int64_t stride, std::size_t count,
              std::size_t element_bytes, std::byte* to) {
  if (stride == static_cast<std::int64_t>(element_bytes)) {
    std::memcpy(to, from, count * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      return copy_strided<1>(from, stride, count, to);
    case 2:
      return copy_strided<2>(from, stride, count, to);
    case 4:
      return copy_strided<4>(from, stride, count, to);
    case 8:
      return copy_strided<8>(from, stride, count, to);
    default:
      return copy_strided<16>(from, stride, count, to);
  }
}

}  // namespace

std::uint64_t repeats_of(const TensorView& view) {
  if (view.strides.empty() || is_string(view.dtype)) return 1;
  std::uint64_t repeats = 1;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return 1;
    if (view.strides[i] == 0)
      repeats *= static_cast<std::uint64_t>(view.shape[i]);
  }
  return repeats;
}

Gather::Gather(const TensorView& view, Repeats repeats)
    : data_(view.data),
      element_bytes_(dtype_bytes(view.dtype)),
      remaining_(element_bytes_ == 0 ? 0
                                     : static_cast<std::size_t>(view.size())) {
  if (remaining_ == 0) return;
  const bool omits = repeats == Repeats::omitted;
  if (omits) remaining_ /= repeats_of(view);
  // Starts at the last dimension: the stride of a dimension in C order is the
  // product of the extents after it. Index 0 becomes the innermost dimension.
  std::int64_t in_c_order = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    const std::int64_t extent = view.shape[i];
    const std::int64_t stride =
        view.strides.empty() ? in_c_order : view.strides[i];
    in_c_order *= extent;
    if (extent == 1 || (omits && stride == 0)) continue;
    append(extent, stride * bytes());
  }
  if (rank_ == 0) append(1, bytes());
}

void Gather::append(std::int64_t extent, std::int64_t stride) {
  if (rank_ > 0 && stride == stride_[rank_ - 1] * extent_[rank_ - 1]) {
    extent_[rank_ - 1] *= extent;
    return;
  }
  extent_[rank_] = extent;
  stride_[rank_] = stride;
  index_[rank_] = 0;
  ++rank_;
}

std::size_t Gather::next(void* destination, std::size_t max_elements) {
  auto* to = static_cast<std::byte*>(destination);
  const std::size_t wanted = std::min(max_elements, remaining_);
  std::size_t done = 0;
  while (done < wanted) {
    const std::size_t run = std::min(
        wanted - done, static_cast<std::size_t>(extent_[0] - index_[0]));
    copy_run(data_, stride_[0], run, element_bytes_,
             to + done * element_bytes_);
    advance(static_cast<std::int64_t>(run));
    done += run;
  }
  remaining_ -= wanted;
  return wanted;
}

void Gather::advance(std::int64_t run) {
  index_[0] += run;
  data_ += run * stride_[0];
  // Carries into the next dimension, like an odometer: goes back to the start
  // of dimension i and forward by one stride of dimension i + 1.
  for (int i = 0; index_[i] == extent_[i] && i + 1 < rank_; ++i) {
    data_ += stride_[i + 1] - extent_[i] * stride_[i];
    index_[i] = 0;
    ++index_[i + 1];
  }
}

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
