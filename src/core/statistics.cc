#include "smdebug/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smdebug {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The functions below require at least one element, and no NaN.

double min_of(const TensorStatistics& s) {
  if (s.negative_inf > 0) return -kInf;
  return s.finite() > 0 ? s.min : kInf;
}

double max_of(const TensorStatistics& s) {
  if (s.positive_inf > 0) return kInf;
  return s.finite() > 0 ? s.max : -kInf;
}

double sum_of(const TensorStatistics& s) {
  if (s.positive_inf > 0 && s.negative_inf > 0) return kNan;
  if (s.positive_inf > 0) return kInf;
  if (s.negative_inf > 0) return -kInf;
  return s.mean * static_cast<double>(s.count);
}

double mean_of(const TensorStatistics& s) {
  return s.has_non_finite() ? sum_of(s) : s.mean;
}

double variance_of(const TensorStatistics& s, Deviation deviation) {
  if (s.has_non_finite()) return kNan;
  const std::uint64_t divisor =
      deviation == Deviation::sample ? s.count - 1 : s.count;
  if (divisor == 0) return kNan;
  return s.m2 / static_cast<double>(divisor);
}

double sum_abs_of(const TensorStatistics& s) {
  return s.has_non_finite() ? kInf : s.sum_abs;
}

double abs_max_of(const TensorStatistics& s) {
  return s.has_non_finite() ? kInf : std::max(std::abs(s.min), std::abs(s.max));
}

double l2_of(const TensorStatistics& s) {
  return s.has_non_finite() ? kInf : std::sqrt(s.sum_squares);
}

}  // namespace

void TensorStatistics::repeat(std::uint64_t times) {
  if (times == 1) return;
  for (std::uint64_t* number :
       {&count, &nan, &positive_inf, &negative_inf, &zeros})
    *number *= times;
  for (double* sum : {&m2, &sum_abs, &sum_squares})
    *sum *= static_cast<double>(times);
}

void TensorStatistics::merge(const TensorStatistics& other) {
  const auto n_a = static_cast<double>(finite());
  const auto n_b = static_cast<double>(other.finite());
  count += other.count;
  nan += other.nan;
  positive_inf += other.positive_inf;
  negative_inf += other.negative_inf;
  zeros += other.zeros;
  sum_abs += other.sum_abs;
  sum_squares += other.sum_squares;
  if (n_b == 0) return;
  if (n_a == 0) {
    min = other.min;
    max = other.max;
    mean = other.mean;
    m2 = other.m2;
    return;
  }
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  const double n = n_a + n_b;
  const double distance = other.mean - mean;
  mean += distance * (n_b / n);
  m2 += other.m2 + distance * distance * (n_a * (n_b / n));
}

std::optional<double> reduction_from(const TensorStatistics& statistics,
                                     ReductionOp op, Deviation deviation) {
  const TensorStatistics& s = statistics;
  if (s.count == 0) return {};
  const auto unless_nan = [&](double value) {
    return s.nan > 0 ? kNan : value;
  };
  switch (op.reduction) {
    case Reduction::min:
      if (op.abs) return {};
      return unless_nan(min_of(s));
    case Reduction::max:
      return unless_nan(op.abs ? abs_max_of(s) : max_of(s));
    case Reduction::mean:
      if (op.abs) {
        return unless_nan(sum_abs_of(s) / static_cast<double>(s.count));
      }
      return unless_nan(mean_of(s));
    case Reduction::sum:
      return unless_nan(op.abs ? sum_abs_of(s) : sum_of(s));
    case Reduction::variance:
      if (op.abs) return {};
      return unless_nan(variance_of(s, deviation));
    case Reduction::std:
      if (op.abs) return {};
      return unless_nan(std::sqrt(variance_of(s, deviation)));
    case Reduction::l1:
      return unless_nan(sum_abs_of(s));
    case Reduction::l2:
      return unless_nan(l2_of(s));
    case Reduction::median:
    case Reduction::prod:
      return {};
  }
  return {};
}

}  // namespace smdebug
