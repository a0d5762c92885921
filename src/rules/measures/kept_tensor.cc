#include "rules/measures/kept_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "smdebug/base/try.h"

#include "reduce/elements.h"
#include "reduce/gather.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

DType real_part_of(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  if (dtype == DType::complex128) return DType::float64;
  return dtype;
}

}  // namespace

KeptTensor KeptTensor::copy_of(const TensorView& view) {
  KeptTensor copy;
  copy.dtype_ = real_part_of(view.dtype);
  copy.shape_.assign(view.shape.begin(), view.shape.end());
  if (copy.dtype_ != view.dtype) copy.shape_.push_back(2);
  copy.bytes_.resize(view.bytes());
  copy.size_ = view.bytes() / dtype_bytes(copy.dtype_);
  Gather gather(view);
  gather.next(copy.bytes_.data(), static_cast<std::size_t>(view.size()));
  return copy;
}

void KeptTensor::read(std::size_t first, std::size_t count, double* out) const {
  elements_to_doubles(dtype_, bytes_.data() + first * dtype_bytes(dtype_),
                      count, out);
}

Result<KeptTensorPtr> keep(const Observation& observation,
                           const KeptTensorPtr& previous) {
  SMD_TRY(const auto view, elements_of(observation));
  if (!view) return KeptTensorPtr();
  KeptTensor copy = KeptTensor::copy_of(*view);
  if (previous && *previous == copy) return previous;
  return KeptTensorPtr(std::make_shared<const KeptTensor>(std::move(copy)));
}

double norm_of(const KeptTensor& a) {
  double squares = 0;
  for_each_pair(a, a, [&](double x, double) { squares += x * x; });
  return std::sqrt(squares);
}

double norm_of_difference(const KeptTensor& a, const KeptTensor& b) {
  double squares = 0;
  for_each_pair(a, b,
                [&](double x, double y) { squares += (x - y) * (x - y); });
  return std::sqrt(squares);
}

}  // namespace smdebug
