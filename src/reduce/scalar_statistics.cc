// The scalar version of the kernel: two simple passes in long double. The
// kernel falls back to it if squares exceed the range of fp64.

#include <algorithm>
#include <array>
#include <cmath>

#include "smdebug/reduce/statistics_kernel.h"

#include "reduce/elements.h"

namespace smdebug {
namespace {

template <typename Visit>
void for_each_value(DType dtype, const void* data, std::size_t count,
                    Visit visit) {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::array<double, 256> values;
  for (std::size_t i = 0; i < count; i += values.size()) {
    const std::size_t n = std::min(values.size(), count - i);
    elements_to_doubles(dtype, bytes + i * dtype_bytes(dtype), n,
                        values.data());
    for (std::size_t j = 0; j < n; ++j) visit(values[j]);
  }
}

}  // namespace

TensorStatistics scalar_statistics(DType dtype, const void* data,
                                   std::size_t count) {
  TensorStatistics s;
  s.count = count;
  if (is_string(dtype)) return s;
  long double sum = 0;
  long double sum_abs = 0;
  long double sum_squares = 0;
  std::uint64_t finite = 0;
  for_each_value(dtype, data, count, [&](double x) {
    if (std::isnan(x)) {
      ++s.nan;
    } else if (std::isinf(x)) {
      ++(x > 0 ? s.positive_inf : s.negative_inf);
    } else {
      s.min = finite == 0 ? x : std::min(s.min, x);
      s.max = finite == 0 ? x : std::max(s.max, x);
      s.zeros += x == 0 ? 1 : 0;
      sum += x;
      sum_abs += std::abs(x);
      sum_squares += static_cast<long double>(x) * x;
      ++finite;
    }
  });
  if (finite == 0) return s;
  const long double mean = sum / static_cast<long double>(finite);
  long double m2 = 0;
  for_each_value(dtype, data, count, [&](double x) {
    if (std::isfinite(x)) m2 += (x - mean) * (x - mean);
  });
  s.mean = static_cast<double>(mean);
  s.m2 = static_cast<double>(m2);
  s.sum_abs = static_cast<double>(sum_abs);
  s.sum_squares = static_cast<double>(sum_squares);
  return s;
}

}  // namespace smdebug
