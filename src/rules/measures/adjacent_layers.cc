#include "rules/measures/adjacent_layers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <system_error>
#include <utility>

#include <fmt/format.h>

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
const JudgedTensor* next_layer(const Range& tensors, const Evidence& offender) {
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
  return found;
}

std::optional<AdjacentLayer> as_evidence(const JudgedTensor* layer) {
  if (!layer) return std::nullopt;
  return AdjacentLayer{std::string(layer->tensor->name), layer->value};
}

// Compares the numbers at which two names first differ: "fc2" and "fc10" give
// a negative number. 0 if they do not differ in a number.
int number_order(std::string_view a, std::string_view b) {
  auto [at_a, at_b] = std::ranges::mismatch(a, b);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (at_a != a.begin() && is_digit(*std::prev(at_a))) {
    --at_a;
    --at_b;
  }
  std::uint64_t first = 0, second = 0;
  const std::string_view rest_a(at_a, a.end()), rest_b(at_b, b.end());
  const auto read_a =
      std::from_chars(rest_a.data(), rest_a.data() + rest_a.size(), first);
  const auto read_b =
      std::from_chars(rest_b.data(), rest_b.data() + rest_b.size(), second);
  if (read_a.ec != std::errc() || read_b.ec != std::errc()) return 0;
  return first < second ? -1 : static_cast<int>(first > second);
}

bool is_gradient(std::string_view tensor) {
  return tensor.starts_with("gradient/");
}

// Whether the offender and those like it are in the order of the backward pass.
// The numbers in the names of their layers tell; if there are none, gradients
// are taken to be computed in that order.
bool is_backward(std::span<const JudgedTensor> judged,
                 const Evidence& offender) {
  int order = 0;
  const Observation* last = nullptr;
  for (const JudgedTensor& one : judged) {
    if (one.tensor->worker != offender.worker ||
        is_gradient(one.tensor->name) != is_gradient(offender.tensor))
      continue;
    if (last)
      order += number_order(layer_of(last->name), layer_of(one.tensor->name));
    last = one.tensor;
  }
  return order != 0 ? order > 0 : is_gradient(offender.tensor);
}

}  // namespace

std::string describe_adjacent_layers(
    std::span<const JudgedTensor> judged, Evidence& offender,
    const std::function<std::string(const JudgedTensor&)>& amount_text) {
  const auto place = std::ranges::find_if(judged, [&](const JudgedTensor& one) {
    return one.tensor->name == offender.tensor &&
           one.tensor->worker == offender.worker;
  });
  const auto index = static_cast<std::size_t>(place - judged.begin());
  if (index == judged.size()) return "";
  const JudgedTensor* before =
      next_layer(std::views::reverse(judged.first(index)), offender);
  const JudgedTensor* after = next_layer(judged.subspan(index + 1), offender);
  offender.before = as_evidence(before);
  offender.after = as_evidence(after);
  if (!before && !after) return "";
  const auto has_text = [&](const JudgedTensor& one) {
    return fmt::format("{} has {}", one.tensor->name, amount_text(one));
  };
  if (is_backward(judged, offender)) std::swap(before, after);
  // Outputs precede gradients in a step, so both sides may show one layer.
  if (before && after &&
      layer_of(before->tensor->name) != layer_of(after->tensor->name)) {
    return fmt::format("; in the adjacent layers, {} and {}", has_text(*before),
                       has_text(*after));
  }
  return "; in the adjacent layer, " + has_text(before ? *before : *after);
}

}  // namespace smdebug
