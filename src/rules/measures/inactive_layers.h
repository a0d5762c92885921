#pragma once

// `InactiveLayers` finds layers most of whose units are hardly ever active.
// DeadRelu and SaturatedActivation differ only in the elements that they call
// active.
//
// By default a unit is one position after the batch dimension, the first one,
// and each row of the batch is a sample of it. A unit can also be a channel or
// a feature; then each position of each row is a sample of it. A vector is one
// sample of as many units: a model may be called without a batch dimension, as
// policies are.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/rules/parameters.h"

namespace smdebug {

// An element is active if it is above `above` and, if set, below `below`.
struct ActiveRange {
  double above = 0;
  std::optional<double> below;

  bool holds(double x) const { return x > above && (!below || x < *below); }
};

enum class Unit { element, channel, last };

// The parameter that defines a unit, and its value.
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

// Active samples by unit. NaN is not a sample; ExplodingTensor judges it.
struct UnitCounts {
  std::vector<std::uint64_t> active;
  std::vector<std::uint64_t> samples;

  // Adds the counts of another step with as many units.
  void add(const UnitCounts& other);
};

UnitCounts count_units(const TensorView& view, const ActiveRange& range,
                       Unit unit);

// Returns the number of samples of each unit in a tensor of that shape; 0 if
// the tensor is empty.
std::int64_t samples_per_unit(std::span<const std::int64_t> shape, Unit unit);

// Whether the saved bounds of a tensor prove, without its elements, that all or
// none of them are active.
enum class BoundsVerdict { all_active, none_active, neither };
BoundsVerdict activity_from_bounds(const Observation& observation,
                                   const ActiveRange& range);

// Parameters of the rules over inactive layers.
inline const ParameterSpec kThresholdInactivity = {
    .name = "threshold_inactivity",
    .type = ParameterType::real,
    .default_text = "1.0",
    .description =
        "A unit is inactive if it is active in less than this percentage of "
        "the samples.",
    .minimum = 0.0,
    .maximum = 100.0};
inline const ParameterSpec kThresholdLayer = {
    .name = "threshold_layer",
    .type = ParameterType::real,
    .default_text = "50.0",
    .description =
        "The rule fires if more than this percentage of the units of "
        "a layer are inactive.",
    .minimum = 0.0,
    .maximum = 100.0};

struct InactiveLimits {
  double inactivity_percent = 1;
  double layer_percent = 50;
  Unit unit = Unit::element;

  // Reads the two parameters and `unit`.
  static InactiveLimits of(const Parameters& parameters);
};

// The activity of one tensor at one step.
struct LayerActivity {
  double inactive_percent = 0;
  // 0 if the elements were not saved and the bounds prove that none is active.
  std::uint64_t units = 0;
  std::uint64_t inactive = 0;
};

class InactiveLayers {
 public:
  // So many elements of a tensor estimate a share of units to within a few
  // percent, from a sample of 128 rows.
  static constexpr std::int64_t kSampledElements = 128 * 128;

  // If one step has a single sample of each unit, so many steps are pooled.
  static constexpr std::size_t kPooledSteps = 10;

  explicit InactiveLayers(const InactiveLimits& limits) : limits_(limits) {}

  // Judges one tensor; returns none if it is too early or impossible. A layer
  // whose statistics show that it cannot meet the condition is judged without
  // its elements, with 0 %. Fails with `io`.
  Result<std::optional<LayerActivity>> judge(const Observation& observation,
                                             const ActiveRange& range);

  // Returns whether the condition is met.
  bool is_met(const LayerActivity& activity) const {
    return activity.inactive_percent > limits_.layer_percent;
  }

  const InactiveLimits& limits() const { return limits_; }

  // "6 of 8 units of layer Net_relu".
  static std::string units_text(const Observation& observation,
                                const LayerActivity& activity);

  // Returns the last reason why nothing could be judged.
  const std::string& why_not() const { return why_not_; }

 private:
  bool is_known_healthy(const Observation& observation,
                        const ActiveRange& range) const;
  const UnitCounts* pooled(const Observation& observation, UnitCounts counts);
  std::optional<LayerActivity> activity_of(const UnitCounts& counts) const;

  InactiveLimits limits_;
  struct Pool {
    std::deque<UnitCounts> steps;
    UnitCounts sum;
  };
  std::map<std::pair<std::string, std::string>, Pool> pools_;
  std::string why_not_;
};

}  // namespace smdebug
