#include "read/tensor_numbers.h"

#include "smdebug/core/dtype.h"

namespace smdebug {

Result<std::optional<IndexedStatistics>> tensor_numbers(
    Tensor& tensor, const StepQuery& query) {
  using Numbers = std::optional<IndexedStatistics>;
  const auto none_or = [](const Error& error) -> Result<Numbers> {
    if (error.code == Error::Code::not_found) return Numbers();
    return error;
  };
  const auto dtype = tensor.dtype(query);
  if (!dtype) return none_or(dtype.error());
  if (is_string(*dtype)) return Numbers();
  const auto statistics = tensor.statistics(query);
  if (!statistics) return none_or(statistics.error());
  const auto shape = tensor.shape(query);
  if (!shape) return none_or(shape.error());
  return Numbers(IndexedStatistics{tensor.name(), *dtype, *shape, *statistics,
                                   std::nullopt});
}

}  // namespace smdebug
