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

// Calls `visit` with chunks of the values of `view`, in C order. Visits an
// element that the view shows several times once.
template <typename Visit>
void for_each_chunk(const TensorView& view, Visit visit) {
  alignas(64) std::byte elements[kChunkElements * kMaxElementBytes];
  alignas(64) double values[kChunkElements];
  Gather gather(view, Gather::Repeats::omitted);
  while (const std::size_t n = gather.next(elements, kChunkElements)) {
    elements_to_doubles(view.dtype, elements, n, values);
    visit(std::span(values, n));
  }
}

// Repeating every element does not change the median.
double median_of(const TensorView& view, bool abs) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(view.size()) / repeats_of(view));
  for_each_chunk(view, [&](std::span<const double> chunk) {
    for (double x : chunk) values.push_back(abs ? std::abs(x) : x);
  });
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

struct Scaled {
  double mantissa = 1;  // 0, or at least 0.5 and less than 1 in magnitude
  std::int64_t exponent = 0;
};

Scaled operator*(const Scaled& a, const Scaled& b) {
  int exponent = 0;
  const double mantissa = std::frexp(a.mantissa * b.mantissa, &exponent);
  return {mantissa, a.exponent + b.exponent + exponent};
}

// By squaring.
Scaled power(Scaled base, std::uint64_t times) {
  Scaled result;
  for (; times > 0; times /= 2) {
    if (times % 2 == 1) result = result * base;
    base = base * base;
  }
  return result;
}

// Keeps mantissa and exponent separate, so that only the result can overflow or
// underflow, never an intermediate product.
double product_of(const TensorView& view, bool abs) {
  Scaled once;
  for_each_chunk(view, [&](std::span<const double> chunk) {
    for (double x : chunk) {
      int exponent = 0;
      const double mantissa = std::frexp(x, &exponent);
      once = once * Scaled{mantissa, exponent};
    }
  });
  const std::uint64_t repeats = repeats_of(view);
  const Scaled whole = repeats == 1 ? once : power(once, repeats);
  constexpr std::int64_t kBeyondAnyDouble = 4096;
  const std::int64_t scale =
      std::clamp(whole.exponent, -kBeyondAnyDouble, kBeyondAnyDouble);
  const double product = std::ldexp(whole.mantissa, static_cast<int>(scale));
  return abs ? std::abs(product) : product;
}

TensorStatistics statistics_of_absolutes(const TensorView& view) {
  TensorStatistics whole;
  for_each_chunk(view, [&](std::span<double> chunk) {
    for (double& x : chunk) x = std::abs(x);
    whole.merge(statistics_of(DType::float64, chunk.data(), chunk.size()));
  });
  whole.repeat(repeats_of(view));
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
  Gather gather(view, Gather::Repeats::omitted);
  while (const std::size_t n = gather.next(elements, chunk)) {
    whole.merge(statistics_of(view.dtype, elements, n));
  }
  whole.repeat(repeats_of(view));
  return whole;
}

}  // namespace smdebug
