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

bool can_tell(const TensorStatistics& weights) {
  return static_cast<double>(weights.count) >= kFewest &&
         !weights.has_non_finite();
}

double crest_of(const TensorStatistics& weights) {
  const double largest = std::max(std::abs(weights.min), std::abs(weights.max));
  return largest /
         std::sqrt(weights.sum_squares / static_cast<double>(weights.count));
}

double normal_crest(const TensorStatistics& weights) {
  return std::sqrt(2 * std::log(static_cast<double>(weights.count)));
}

}  // namespace

std::optional<bool> look_untrained(const TensorStatistics& weights) {
  if (!can_tell(weights)) return std::nullopt;
  if (weights.min == weights.max) return true;
  const auto count = static_cast<double>(weights.count);
  const double crest = crest_of(weights), normal = normal_crest(weights);
  return crest < kUniform * (1 + kUniformNoise / std::sqrt(count)) ||
         (crest > kNormalLeast * normal && crest < kNormalMost * normal);
}

bool have_tails(const TensorStatistics& weights) {
  return can_tell(weights) && weights.min != weights.max &&
         crest_of(weights) >= kNormalMost * normal_crest(weights);
}

}  // namespace smdebug
