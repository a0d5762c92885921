#pragma once

// A sample of a tensor: every n-th index of each dimension. The outputs of a
// layer can be thousands of times larger than what a rule needs to estimate a
// share of them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "smdebug/core/tensor_view.h"

namespace [[gnu::visibility("default")]] smdebug {

/// The most dimensions of a tensor that can be sampled.
inline constexpr std::size_t kMaxSampledRank = 64;

/// Returns the distance between sampled indices in each dimension, at least 1,
/// so that a tensor of that shape has at most `max_elements` sampled elements.
/// `max_elements` must be above 0, and the rank at most `kMaxSampledRank`.
/// The first dimension, the batch, is thinned to 128 indices before the others,
/// which are thinned evenly: the longest one first.
std::array<std::int64_t, kMaxSampledRank> sample_steps(
    std::span<const std::int64_t> shape, std::int64_t max_elements);

/// A view of the sampled elements of `tensor`, whose data it shares.
class TensorSample {
 public:
  /// `tensor` must not contain strings.
  TensorSample(const TensorView& tensor, std::int64_t max_elements);
  TensorSample(const TensorSample&) = delete;
  TensorSample& operator=(const TensorSample&) = delete;

  const TensorView& view() const { return view_; }

 private:
  std::array<std::int64_t, kMaxSampledRank> shape_;
  std::array<std::int64_t, kMaxSampledRank> strides_;
  TensorView view_;
};

}  // namespace smdebug
