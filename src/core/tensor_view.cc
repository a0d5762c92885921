#include "smdebug/core/tensor_view.h"

namespace smdebug {

bool TensorView::is_contiguous() const {
  if (strides.empty() || size() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    // The stride of a dimension with one element does not matter.
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace smdebug
