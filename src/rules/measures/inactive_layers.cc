#include "rules/measures/inactive_layers.h"

#include <cmath>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "rules/engine/layer_name.h"
#include "rules/measures/element_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// The unit of the i-th element in C order is (i / inner) % units.
struct UnitLayout {
  std::int64_t size = 1;
  std::int64_t units = 1;
  std::int64_t inner = 1;

  static UnitLayout of(std::span<const std::int64_t> shape, Unit unit);
};

UnitLayout UnitLayout::of(std::span<const std::int64_t> shape, Unit unit) {
  UnitLayout layout;
  layout.size = element_count(shape);
  if (layout.size == 0 || shape.empty()) return layout;
  if (shape.size() == 1) {
    layout.units = layout.size;
    return layout;
  }
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

// The smallest and the largest element, including infinities; none if they were
// not saved or an element is NaN.
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
  const UnitLayout layout = UnitLayout::of(view.shape, unit);
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
  const UnitLayout layout = UnitLayout::of(shape, unit);
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

InactiveLimits InactiveLimits::of(const Parameters& parameters) {
  return {parameters.real(kThresholdInactivity.name),
          parameters.real(kThresholdLayer.name), unit_of(parameters)};
}

std::string InactiveLayers::units_text(const Observation& observation,
                                       const LayerActivity& activity) {
  const std::string_view layer = layer_of(observation.name);
  if (activity.units == 0) return fmt::format("all units of layer {}", layer);
  return fmt::format("{} of {} units of layer {}", activity.inactive,
                     activity.units, layer);
}

Result<std::optional<LayerActivity>> InactiveLayers::judge(
    const Observation& observation, const ActiveRange& range) {
  std::optional<LayerActivity> activity;
  if (observation.statistics && observation.statistics->count == 0) {
    why_not_ = "the tensors have no elements";
    return activity;
  }
  const bool has_one_sample =
      samples_per_unit(observation.shape, limits_.unit) == 1 &&
      !observation.shape.empty();
  if (!has_one_sample && is_known_healthy(observation, range)) {
    return std::optional(LayerActivity());
  }
  SMD_TRY(const auto view, elements_of(observation));
  if (!view) {
    if (has_one_sample || activity_from_bounds(observation, range) !=
                              BoundsVerdict::none_active) {
      why_not_ =
          "their elements were not saved, and statistics do not distinguish "
          "units; save raw values";
      return activity;
    }
    return std::optional(LayerActivity{100, 0, 0});
  }
  if (view->size() == 0) {
    why_not_ = "the tensors have no elements";
    return activity;
  }
  UnitCounts counts = count_units(*view, range, limits_.unit);
  if (samples_per_unit(view->shape, limits_.unit) > 1) {
    return activity_of(counts);
  }
  const UnitCounts* sum = pooled(observation, std::move(counts));
  return sum ? activity_of(*sum) : activity;
}

// Bounds on the share of inactive units, from the share z of elements that are
// zero: an inactive unit is zero in more than 1 - a of its samples, so with a
// share D of inactive units z >= D * (1 - a).
bool InactiveLayers::is_known_healthy(const Observation& observation,
                                      const ActiveRange& range) const {
  if (activity_from_bounds(observation, range) == BoundsVerdict::all_active)
    return true;
  const TensorStatistics* statistics = observation.statistics;
  if (statistics == nullptr || statistics->has_non_finite() ||
      statistics->min < 0 || range.above != 0 || range.below) {
    return false;
  }
  const double zero_percent = 100 * static_cast<double>(statistics->zeros) /
                              static_cast<double>(statistics->count);
  return zero_percent <=
         limits_.layer_percent * (1 - limits_.inactivity_percent / 100);
}

// Adds the counts of one sample to those of earlier steps. Returns null while
// there are too few samples to show that a unit is inactive.
const UnitCounts* InactiveLayers::pooled(const Observation& observation,
                                         UnitCounts counts) {
  Pool& pool =
      pools_[{std::string(observation.name), std::string(observation.worker)}];
  if (!pool.steps.empty() &&
      pool.steps.front().active.size() != counts.active.size()) {
    pool.steps.clear();
  }
  pool.steps.push_back(std::move(counts));
  if (pool.steps.size() > kPooledSteps) pool.steps.pop_front();
  if (pool.steps.size() < kPooledSteps) {
    why_not_ = fmt::format(
        "a step has one sample of each unit, and there were fewer than {} "
        "steps",
        kPooledSteps);
    return nullptr;
  }
  pool.sum = pool.steps.front();
  for (std::size_t i = 1; i < pool.steps.size(); ++i) {
    pool.sum.add(pool.steps[i]);
  }
  return &pool.sum;
}

std::optional<LayerActivity> InactiveLayers::activity_of(
    const UnitCounts& counts) const {
  LayerActivity activity;
  for (std::size_t i = 0; i < counts.active.size(); ++i) {
    if (counts.samples[i] == 0) continue;  // nothing but NaN
    ++activity.units;
    const double active_percent = 100 * static_cast<double>(counts.active[i]) /
                                  static_cast<double>(counts.samples[i]);
    activity.inactive += active_percent < limits_.inactivity_percent;
  }
  if (activity.units == 0) return std::nullopt;
  activity.inactive_percent = 100 * static_cast<double>(activity.inactive) /
                              static_cast<double>(activity.units);
  return activity;
}

}  // namespace smdebug
