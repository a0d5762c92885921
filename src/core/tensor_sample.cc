#include "smdebug/core/tensor_sample.h"

#include <algorithm>

namespace smdebug {
namespace {

// Enough samples of a unit to tell one that is never active.
constexpr std::int64_t kBatch = 128;

constexpr std::int64_t sampled(std::int64_t extent, std::int64_t step) {
  return (extent + step - 1) / step;
}

}  // namespace

std::array<std::int64_t, kMaxSampledRank> sample_steps(
    std::span<const std::int64_t> shape, std::int64_t max_elements) {
  std::array<std::int64_t, kMaxSampledRank> steps;
  steps.fill(1);
  std::array<std::int64_t, kMaxSampledRank> left;
  std::ranges::copy(shape, left.begin());
  const std::span extents(left.data(), shape.size());
  while (element_count(extents) > max_elements) {
    auto longest = extents.begin();
    if (extents.size() > 1 && extents.front() <= kBatch) {
      const auto in_row = std::max_element(extents.begin() + 1, extents.end());
      if (*in_row > 1) longest = in_row;
    }
    const auto at = static_cast<std::size_t>(longest - extents.begin());
    steps[at] *= 2;
    *longest = sampled(shape[at], steps[at]);
  }
  return steps;
}

TensorSample::TensorSample(const TensorView& tensor, std::int64_t max_elements)
    : view_(tensor) {
  const std::size_t rank = tensor.shape.size();
  const auto steps = sample_steps(tensor.shape, max_elements);
  std::int64_t stride = 1;  // in C order
  for (std::size_t i = rank; i-- > 0;) {
    shape_[i] = sampled(tensor.shape[i], steps[i]);
    strides_[i] =
        steps[i] * (tensor.strides.empty() ? stride : tensor.strides[i]);
    stride *= tensor.shape[i];
  }
  view_.shape = {shape_.data(), rank};
  view_.strides = {strides_.data(), rank};
}

}  // namespace smdebug
