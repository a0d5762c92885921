#include "rules/measures/noisy_values.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace smdebug {

double quantile(std::span<const double> values, double share) {
  std::vector<double> sorted(values.begin(), values.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(sorted, at);
  if (below + 1 == sorted.size()) return *at;
  const double above = *std::min_element(at + 1, sorted.end());
  return *at + (place - static_cast<double>(below)) * (above - *at);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double noise(std::span<const double> values) {
  if (values.size() < 3) return 0;
  std::vector<double> differences;
  differences.reserve(values.size() - 1);
  for (std::size_t i = 1; i < values.size(); ++i) {
    differences.push_back(values[i] - values[i - 1]);
  }
  const double middle = median(differences);
  for (double& one : differences) one = std::abs(one - middle);
  // A difference has the noise of two values.
  constexpr double kNormal = 1.4826;
  return kNormal * median(differences) / std::sqrt(2.0);
}

double rank_test(std::span<const double> before, std::span<const double> now) {
  std::vector<double> sorted(now.begin(), now.end());
  std::ranges::sort(sorted);
  double below = 0;  // pairs in which the value of `now` is smaller
  for (const double value : before) {
    const auto equal = std::ranges::equal_range(sorted, value);
    below += static_cast<double>(equal.begin() - sorted.begin()) +
             static_cast<double>(equal.size()) / 2;
  }
  const double pairs =
      static_cast<double>(before.size()) * static_cast<double>(now.size());
  const double all = static_cast<double>(before.size() + now.size());
  return (below - pairs / 2) / std::sqrt(pairs * (all + 1) / 12);
}

}  // namespace smdebug
