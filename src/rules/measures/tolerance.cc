#include "rules/measures/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smdebug {
namespace {

double largest_finite(const TensorStatistics& statistics) {
  return std::max(std::abs(statistics.min), std::abs(statistics.max));
}

double root_mean_square(const TensorStatistics& statistics) {
  return std::sqrt(statistics.sum_squares /
                   static_cast<double>(statistics.finite()));
}

MaxDeviation deviation_of(double a, double b, const Tolerance& tolerance) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (std::isnan(a) && std::isnan(b)) {
    return {tolerance.equal_nan ? 0 : kInfinite, 0};
  }
  if (a == b && std::isinf(b)) return {};
  if (!std::isfinite(a) || !std::isfinite(b)) return {kInfinite, 0};
  return {std::abs(a - b), tolerance.atol + tolerance.rtol * std::abs(b)};
}

void keep_worse(MaxDeviation& worst, const MaxDeviation& other) {
  if (other.value - other.allowed > worst.value - worst.allowed) worst = other;
}

}  // namespace

Tolerance Tolerance::of(const Parameters& parameters) {
  return {parameters.real(kRtol.name), parameters.real(kAtol.name),
          parameters.boolean(kEqualNan.name)};
}

bool Tolerance::is_close(double value, double reference) const {
  return deviation_of(value, reference, *this).is_close();
}

MaxDeviation max_deviation(const KeptTensor& a, const KeptTensor& b,
                           const Tolerance& tolerance) {
  MaxDeviation worst = {0, std::numeric_limits<double>::infinity()};
  for_each_pair(a, b, [&](double x, double y) {
    keep_worse(worst, deviation_of(x, y, tolerance));
  });
  return worst;
}

MaxDeviation max_deviation(const TensorStatistics& a, const TensorStatistics& b,
                           const Tolerance& tolerance) {
  const bool can_be_close = a.count == b.count && a.nan == b.nan &&
                            a.positive_inf == b.positive_inf &&
                            a.negative_inf == b.negative_inf &&
                            (a.nan == 0 || tolerance.equal_nan);
  if (!can_be_close) return {std::numeric_limits<double>::infinity(), 0};
  if (a.finite() == 0) return {};
  const double largest = largest_finite(b);
  const double allowed = tolerance.atol + tolerance.rtol * largest;
  // The rounding of a sum depends on the order of its terms, which differs
  // between machines.
  const double allowed_of_sums = allowed + 1e-9 * largest;
  MaxDeviation worst = {std::abs(a.min - b.min), allowed};
  keep_worse(worst, {std::abs(a.max - b.max), allowed});
  keep_worse(worst, {std::abs(a.mean - b.mean), allowed_of_sums});
  keep_worse(worst, {std::abs(root_mean_square(a) - root_mean_square(b)),
                     allowed_of_sums});
  return worst;
}

}  // namespace smdebug
