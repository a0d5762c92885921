#include "capture/saved_tensor.h"

#include <utility>

#include "reduce/gather.h"

namespace smdebug {

WaitingTensor::WaitingTensor(SavedTensor saved, const TensorView& tensor)
    : saved_(std::move(saved)),
      dtype_(tensor.dtype),
      shape_(tensor.shape.begin(), tensor.shape.end()) {
  if (is_string(dtype_)) {
    const auto strings = tensor.strings();
    strings_.assign(strings.begin(), strings.end());
    string_views_.assign(strings_.begin(), strings_.end());
    return;
  }
  elements_.resize(tensor.bytes());
  if (elements_.empty()) return;
  Gather(tensor).next(elements_.data(),
                      static_cast<std::size_t>(tensor.size()));
}

TensorView WaitingTensor::view() const {
  const void* first = is_string(dtype_)
                          ? static_cast<const void*>(string_views_.data())
                          : elements_.data();
  return {dtype_, static_cast<const std::byte*>(first), shape_, {}};
}

}  // namespace smdebug
