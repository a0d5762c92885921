#pragma once

// `InactiveLayers` finds layers most of whose units are hardly ever active.
// DeadRelu and SaturatedActivation differ only in what they call active.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/rules/parameters.h"

#include "rules/measures/unit_activity.h"

namespace smdebug {

// Two rows of such a rule's table.
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

// What one tensor of one step shows.
struct LayerActivity {
  double inactive_percent = 0;
  // 0 where the elements were not kept, and the bounds say that none of them
  // is active.
  std::uint64_t units = 0;
  std::uint64_t inactive = 0;
};

class InactiveLayers {
 public:
  // Steps over which units are pooled of which one step shows a single sample.
  static constexpr std::size_t kPooledSteps = 10;

  explicit InactiveLayers(const InactiveLimits& limits) : limits_(limits) {}

  // Judges one tensor; returns none where it is too early or impossible to
  // tell. A layer whose statistics show that it cannot meet the condition is
  // judged without its elements, with 0 %. Fails with `io`.
  Result<std::optional<LayerActivity>> judge(const Observation& observation,
                                             const ActiveRange& range);

  // Whether the condition is met.
  bool is_met(const LayerActivity& activity) const {
    return activity.inactive_percent > limits_.layer_percent;
  }

  const InactiveLimits& limits() const { return limits_; }

  // "6 of 8 units of layer Net_relu".
  static std::string units_text(const Observation& observation,
                                const LayerActivity& activity);

  // Why nothing could be judged: the last reason.
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
