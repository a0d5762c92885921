#include "rules/measures/untrained_weights.h"

#include <algorithm>
#include <cmath>

namespace smdebug {
namespace {

constexpr double kFewest = 300;  // elements
// The largest element over the root mean square: the square root of 3 if the
// elements are uniform, and near sqrt(2 ln n) for n normal elements. The root
// mean square of n uniform ones has a relative standard deviation of
// 0.447 / sqrt(n).
constexpr double kUniform = 1.7321, kUniformNoise = 3 * 0.447;
constexpr double kNormalLeast = 0.8, kNormalMost = 1.35;

}  // namespace

std::optional<bool> look_untrained(const TensorStatistics& weights) {
  const auto count = static_cast<double>(weights.count);
  if (count < kFewest || weights.has_non_finite()) return std::nullopt;
  if (weights.min == weights.max) return true;
  const double largest = std::max(std::abs(weights.min), std::abs(weights.max));
  const double crest = largest / std::sqrt(weights.sum_squares / count);
  const double normal = std::sqrt(2 * std::log(count));
  return crest < kUniform * (1 + kUniformNoise / std::sqrt(count)) ||
         (crest > kNormalLeast * normal && crest < kNormalMost * normal);
}

}  // namespace smdebug
