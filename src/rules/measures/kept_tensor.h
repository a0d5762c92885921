#pragma once

// `KeptTensor` is a copy of an observed tensor's elements, for rules that
// compare steps or workers: an observation's own elements are valid only
// during the call.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"

namespace smdebug {

class KeptTensor {
 public:
  // Copies the elements of `view`, in C order. Complex elements become pairs of
  // reals, so that a change of phase is a change.
  static KeptTensor copy_of(const TensorView& view);

  std::size_t size() const { return size_; }  // of reals
  const std::vector<std::int64_t>& shape() const { return shape_; }

  // True if shape, dtype and every bit are the same.
  friend bool operator==(const KeptTensor&, const KeptTensor&) = default;

  // Writes elements [first, first + count) to `out`.
  void read(std::size_t first, std::size_t count, double* out) const;

 private:
  DType dtype_ = DType::float32;
  std::vector<std::int64_t> shape_;
  std::size_t size_ = 0;
  std::vector<std::byte> bytes_;
};

// Calls visit(x, y) with each pair of elements of tensors of one size.
template <typename Visit>
void for_each_pair(const KeptTensor& a, const KeptTensor& b, Visit visit) {
  constexpr std::size_t kBlock = 1024;
  std::array<double, kBlock> x, y;
  for (std::size_t first = 0; first < a.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, a.size() - first);
    a.read(first, count, x.data());
    b.read(first, count, y.data());
    for (std::size_t i = 0; i < count; ++i) visit(x[i], y[i]);
  }
}

// Equal tensors of successive steps share one copy.
using KeptTensorPtr = std::shared_ptr<const KeptTensor>;

// Returns a copy of the observed elements, `previous` itself if it is identical
// to the last bit, or null if the elements were not saved. Fails with `io`.
Result<KeptTensorPtr> keep(const Observation& observation,
                           const KeptTensorPtr& previous = nullptr);

// The Euclidean norm of a and of a - b, which have the same shape. Summed in
// fp64; NaN propagates.
double norm_of(const KeptTensor& a);
double norm_of_difference(const KeptTensor& a, const KeptTensor& b);

}  // namespace smdebug
