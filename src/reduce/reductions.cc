#include "smdebug/reduce/reductions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "smdebug/reduce/statistics_kernel.h"

#include "reduce/elements.h"
#include "reduce/gather.h"

namespace smdebug {
namespace {

constexpr std::size_t kChunkElements = 1024;
constexpr std::size_t kMaxElementBytes = 16;  // complex128

// Calls `visit` with chunks of the values of `view`, in C order.
template <typename Visit>
void for_each_chunk(const TensorView& view, Visit visit) {
  alignas(64) std::byte elements[kChunkElements * kMaxElementBytes];
  alignas(64) double values[kChunkElements];
  Gather gather(view);
  while (const std::size_t n = gather.next(elements, kChunkElements)) {
    elements_to_doubles(view.dtype, elements, n, values);
    visit(std::span(values, n));
  }
}

double median_of(const TensorView& view, bool abs) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(view.size()));
  for_each_chunk(view, [&](std::span<const double> chunk) {
    for (double x : chunk) values.push_back(abs ? std::abs(x) : x);
  });
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

// Keeps mantissa and exponent separate, so that only the result can overflow or
// underflow, never an intermediate product.
double product_of(const TensorView& view, bool abs) {
  double mantissa = 1;
  std::int64_t exponent = 0;
  for_each_chunk(view, [&](std::span<const double> chunk) {
    for (double x : chunk) {
      int of_element = 0;
      int of_product = 0;
      const double element = std::frexp(x, &of_element);
      mantissa = std::frexp(mantissa * element, &of_product);
      exponent += of_element + of_product;
    }
  });
  constexpr std::int64_t kBeyondAnyDouble = 4096;
  const std::int64_t scale =
      std::clamp(exponent, -kBeyondAnyDouble, kBeyondAnyDouble);
  const double product = std::ldexp(mantissa, static_cast<int>(scale));
  return abs ? std::abs(product) : product;
}

TensorStatistics statistics_of_absolutes(const TensorView& view) {
  TensorStatistics whole;
  for_each_chunk(view, [&](std::span<double> chunk) {
    for (double& x : chunk) x = std::abs(x);
    whole.merge(statistics_of(DType::float64, chunk.data(), chunk.size()));
  });
  return whole;
}

}  // namespace

bool needs_elements(ReductionOp op) {
  switch (op.reduction) {
    case Reduction::median:
    case Reduction::prod:
      return true;
    case Reduction::min:
    case Reduction::std:
    case Reduction::variance:
      return op.abs;
    case Reduction::max:
    case Reduction::mean:
    case Reduction::sum:
    case Reduction::l1:
    case Reduction::l2:
      return false;
  }
  return false;
}

std::optional<double> reduce_tensor(const TensorView& view,
                                    const TensorStatistics& statistics,
                                    ReductionOp op, Deviation deviation) {
  if (is_string(view.dtype) || statistics.count == 0) return {};
  if (!needs_elements(op)) return reduction_from(statistics, op, deviation);
  if (statistics.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (op.reduction == Reduction::median) return median_of(view, op.abs);
  if (op.reduction == Reduction::prod) return product_of(view, op.abs);
  return reduction_from(statistics_of_absolutes(view),
                        {.reduction = op.reduction}, deviation);
}

TensorStatistics statistics_of_view(const TensorView& view) {
  const auto count = static_cast<std::size_t>(view.size());
  if (view.is_contiguous() || is_string(view.dtype)) {
    return statistics_of(view.dtype, view.data, count);
  }
  alignas(64) std::byte elements[kChunkElements * kMaxElementBytes];
  const std::size_t chunk = sizeof(elements) / dtype_bytes(view.dtype);
  TensorStatistics whole;
  Gather gather(view);
  while (const std::size_t n = gather.next(elements, chunk)) {
    whole.merge(statistics_of(view.dtype, elements, n));
  }
  return whole;
}

}  // namespace smdebug
