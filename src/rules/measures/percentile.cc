#include "rules/measures/percentile.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rules/measures/element_values.h"

namespace smdebug {
namespace {

double percentile(std::vector<double>& values, double percent) {
  const double place = static_cast<double>(values.size() - 1) * percent / 100;
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, at);
  if (below + 1 == values.size()) return *at;
  const double next = *std::min_element(at + 1, values.end());
  const double part = place - static_cast<double>(below);
  return part == 0 ? *at : *at + part * (next - *at);
}

}  // namespace

std::optional<double> percentile_range(const TensorView& view, double low,
                                       double high) {
  std::vector<double> values = values_of(view);
  const auto is_nan = [](double x) { return std::isnan(x); };
  if (values.empty() || std::ranges::any_of(values, is_nan)) return {};
  return percentile(values, high) - percentile(values, low);
}

}  // namespace smdebug
