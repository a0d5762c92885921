#include "rules/element_values.h"

#include <array>

#include "reduce/elements.h"
#include "reduce/gather.h"
#include "rules/quantity.h"

namespace smdebug {

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

Result<std::optional<ElementValues>> element_values(
    const Observation& observation) {
  std::optional<ElementValues> elements;
  if (is_string(observation.dtype)) return elements;
  SMD_TRY(const auto view, elements_of(observation));
  if (!view || is_string(view->dtype)) return elements;
  elements.emplace();
  elements->shape.assign(view->shape.begin(), view->shape.end());
  elements->values.reserve(static_cast<std::size_t>(view->size()));
  for_each_block(*view, [&](std::span<const double> block) {
    elements->values.insert(elements->values.end(), block.begin(), block.end());
  });
  return elements;
}

}  // namespace smdebug
