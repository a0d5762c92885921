#pragma once

// How often each unit of a layer was active in one step: what DeadRelu and
// SaturatedActivation judge by.
//
// A unit is one place behind the batch, the first dimension, and a sample one
// row of the batch; or a unit is a channel or a feature, and every place of
// every row a sample of it.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "smdebug/core/observation.h"
#include "smdebug/rules/parameters.h"

namespace smdebug {

// An element is active if it lies above `above` and, where given, below
// `below`.
struct ActiveRange {
  double above = 0;
  std::optional<double> below;

  bool holds(double x) const { return x > above && (!below || x < *below); }
};

enum class Unit { element, channel, last };

// A row of the table of a rule that judges units, and what it means.
inline const ParameterSpec kUnit = {
    .name = "unit",
    .type = ParameterType::text,
    .default_text = "element",
    .description =
        "Definition of a unit: 'element', each position after the batch "
        "dimension; 'channel', each index of the second dimension (images); "
        "'last', each index of the last dimension (sequences).",
    .choices = {"element", "channel", "last"}};
Unit unit_of(const Parameters& parameters);

// Active samples by unit. A NaN is no sample: it is left to ExplodingTensor.
struct UnitCounts {
  std::vector<std::uint64_t> active;
  std::vector<std::uint64_t> samples;

  // Adds the counts of another step with as many units.
  void add(const UnitCounts& other);
};

UnitCounts count_units(const TensorView& view, const ActiveRange& range,
                       Unit unit);

// How many samples of each unit a tensor of that shape holds; 0 of an empty
// one.
std::int64_t samples_per_unit(std::span<const std::int64_t> shape, Unit unit);

// Whether the saved bounds of a tensor prove, without its elements, that all of
// them are active, or none.
enum class BoundsVerdict { all_active, none_active, neither };
BoundsVerdict activity_from_bounds(const Observation& observation,
                                   const ActiveRange& range);

}  // namespace smdebug
