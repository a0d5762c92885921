#include "rules/measures/adjacent_layers.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"

namespace smdebug {
namespace {

// ".weight" of "gradient/Net_fc1.weight".
std::string_view kind_of(std::string_view tensor) {
  const std::string_view layer = layer_of(tensor);
  tensor.remove_prefix(static_cast<std::size_t>(layer.data() - tensor.data()) +
                       layer.size());
  return tensor;
}

// Returns the first other layer among `tensors`, which are in order of distance
// from `offender`; of its tensors, the one of the same kind if there is one.
template <typename Range>
std::optional<AdjacentLayer> next_layer(const Range& tensors,
                                        const Evidence& offender) {
  const JudgedTensor* found = nullptr;
  for (const JudgedTensor& one : tensors) {
    const Observation& tensor = *one.tensor;
    const std::string_view layer = layer_of(tensor.name);
    if (tensor.worker != offender.worker || layer == layer_of(offender.tensor))
      continue;
    if (found && layer != layer_of(found->tensor->name)) break;
    const bool is_alike = kind_of(tensor.name) == kind_of(offender.tensor);
    if (!found || is_alike) found = &one;
    if (is_alike) break;
  }
  if (!found) return std::nullopt;
  return AdjacentLayer{std::string(found->tensor->name), found->value};
}

}  // namespace

std::string describe_adjacent_layers(std::span<const JudgedTensor> judged,
                                     Evidence& offender) {
  const auto place = std::ranges::find_if(judged, [&](const JudgedTensor& one) {
    return one.tensor->name == offender.tensor &&
           one.tensor->worker == offender.worker;
  });
  const auto index = static_cast<std::size_t>(place - judged.begin());
  if (index == judged.size()) return "";
  offender.before =
      next_layer(std::views::reverse(judged.first(index)), offender);
  offender.after = next_layer(judged.subspan(index + 1), offender);
  if (!offender.before && !offender.after) return "";
  const AdjacentLayer& first =
      offender.before ? *offender.before : *offender.after;
  const std::string_view layer = layer_of(first.tensor);
  std::string text =
      fmt::format("; next to it, {} has {}", layer, short_number(first.value));
  // Outputs precede gradients in a step, so both sides may show one layer.
  if (offender.after && layer_of(offender.after->tensor) != layer) {
    text += fmt::format(" and {} {}", layer_of(offender.after->tensor),
                        short_number(offender.after->value));
  }
  return text;
}

}  // namespace smdebug
