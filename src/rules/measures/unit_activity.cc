#include "rules/measures/unit_activity.h"

#include <cmath>

#include "core/shape.h"
#include "rules/measures/element_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// The unit of the i-th element in C order is (i / inner) % units.
struct Layout {
  std::int64_t size = 1;
  std::int64_t units = 1;
  std::int64_t inner = 1;

  static Layout of(std::span<const std::int64_t> shape, Unit unit);
};

Layout Layout::of(std::span<const std::int64_t> shape, Unit unit) {
  Layout layout;
  layout.size = element_count(shape);
  if (layout.size == 0 || shape.size() < 2) return layout;
  switch (unit) {
    case Unit::element:
      layout.units = layout.size / shape.front();
      break;
    case Unit::channel:
      layout.units = shape[1];
      layout.inner = layout.size / shape[0] / shape[1];
      break;
    case Unit::last:
      layout.units = shape.back();
      break;
  }
  return layout;
}

struct Bounds {
  double min = 0;
  double max = 0;
};

// The least and the largest element, infinities included; none where they were
// not kept, or an element is NaN.
std::optional<Bounds> bounds_of(const Observation& observation) {
  constexpr ReductionOp kMin = {Reduction::min};
  constexpr ReductionOp kMax = {Reduction::max};
  auto min = saved_reduction(observation, kMin);
  auto max = saved_reduction(observation, kMax);
  if (observation.statistics) {
    min = reduction_from(*observation.statistics, kMin, Deviation::population);
    max = reduction_from(*observation.statistics, kMax, Deviation::population);
  }
  if (!min || !max || std::isnan(*min) || std::isnan(*max)) return {};
  return Bounds{*min, *max};
}

}  // namespace

Unit unit_of(const Parameters& parameters) {
  const std::string& text = parameters.text(kUnit.name);
  if (text == "channel") return Unit::channel;
  return text == "last" ? Unit::last : Unit::element;
}

void UnitCounts::add(const UnitCounts& other) {
  for (std::size_t i = 0; i < active.size(); ++i) {
    active[i] += other.active[i];
    samples[i] += other.samples[i];
  }
}

UnitCounts count_units(const TensorView& view, const ActiveRange& range,
                       Unit unit) {
  const Layout layout = Layout::of(view.shape, unit);
  UnitCounts counts;
  counts.active.resize(static_cast<std::size_t>(layout.units));
  counts.samples.resize(static_cast<std::size_t>(layout.units));
  std::int64_t position = 0;
  for_each_block(view, [&](std::span<const double> values) {
    for (const double value : values) {
      const auto place =
          static_cast<std::size_t>((position++ / layout.inner) % layout.units);
      counts.active[place] += range.holds(value);
      counts.samples[place] += !std::isnan(value);
    }
  });
  return counts;
}

std::int64_t samples_per_unit(std::span<const std::int64_t> shape, Unit unit) {
  const Layout layout = Layout::of(shape, unit);
  return layout.size / layout.units;
}

BoundsVerdict activity_from_bounds(const Observation& observation,
                                   const ActiveRange& range) {
  const auto bounds = bounds_of(observation);
  if (!bounds) return BoundsVerdict::neither;
  if (range.holds(bounds->min) && range.holds(bounds->max)) {
    return BoundsVerdict::all_active;
  }
  const bool is_below = bounds->max <= range.above;
  const bool is_above = range.below && bounds->min >= *range.below;
  return is_below || is_above ? BoundsVerdict::none_active
                              : BoundsVerdict::neither;
}

}  // namespace smdebug
