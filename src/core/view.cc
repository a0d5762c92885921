#include "smdebug/core/view.h"

#include <fmt/format.h>

namespace smdebug {
namespace {

// One element where there is none: sessions skip such a tensor.
constexpr std::int64_t kMissingElement[] = {1};

}  // namespace

TensorView view_of_elements(DType dtype, const void* first, std::size_t count,
                            std::span<const std::int64_t> shape) {
  const auto wanted = checked_element_count(shape);
  if (!wanted || static_cast<std::uint64_t>(*wanted) != count)
    return {dtype, nullptr, kMissingElement, {}};
  return {dtype, static_cast<const std::byte*>(first), shape, {}};
}

Status check_elements(const TensorView& tensor, DType dtype) {
  if (tensor.dtype != dtype) {
    return Error{Error::Code::invalid_argument,
                 fmt::format("elements of type '{}' were requested, but the "
                             "tensor has dtype '{}'",
                             dtype_name(dtype), dtype_name(tensor.dtype))};
  }
  if (tensor.data == nullptr && tensor.size() > 0) {
    return Error{Error::Code::invalid_argument,
                 fmt::format("{} elements were requested, but the data pointer "
                             "of the tensor is null",
                             tensor.size())};
  }
  if (!tensor.is_contiguous()) {
    return Error{Error::Code::unsupported,
                 "elements of a tensor with gaps or in another order than C's "
                 "were requested: copy them by its strides"};
  }
  return {};
}

}  // namespace smdebug
