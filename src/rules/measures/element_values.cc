#include "rules/measures/element_values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "smdebug/base/try.h"

#include "reduce/elements.h"
#include "reduce/gather.h"
#include "rules/measures/quantity.h"

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

void for_each_block(const TensorView& view,
                    const std::function<void(std::span<const double>)>& take) {
  constexpr std::size_t kBlock = 1024;
  if (is_string(view.dtype)) return;
  std::vector<std::byte> block(kBlock * dtype_bytes(view.dtype));
  std::array<double, kBlock> values;
  Gather gather(view);
  while (const std::size_t count = gather.next(block.data(), kBlock)) {
    elements_to_doubles(view.dtype, block.data(), count, values.data());
    take(std::span(values).first(count));
  }
}

std::vector<double> values_of(const TensorView& view) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(view.size()));
  for_each_block(view, [&](std::span<const double> block) {
    values.insert(values.end(), block.begin(), block.end());
  });
  return values;
}

Result<std::optional<ElementValues>> element_values(
    const Observation& observation) {
  SMD_TRY(const auto view, elements_of(observation));
  if (!view) return std::optional<ElementValues>();
  return std::optional(ElementValues{{view->shape.begin(), view->shape.end()},
                                     values_of(*view)});
}

std::optional<double> percentile_range(const TensorView& view, double low,
                                       double high) {
  std::vector<double> values = values_of(view);
  const auto is_nan = [](double x) { return std::isnan(x); };
  if (values.empty() || std::ranges::any_of(values, is_nan)) return {};
  return percentile(values, high) - percentile(values, low);
}

}  // namespace smdebug
