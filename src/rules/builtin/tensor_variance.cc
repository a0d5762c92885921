// TensorVariance: the variance of a tensor is too large or too small.
//
//   variance > max_threshold, or variance < min_threshold
//
// The documents leave the details open. The variance is that of the population,
// and a missing threshold is not checked. If only reductions were saved, the
// rule uses the saved variance, however it was computed.

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"
#include "rules/measures/threshold_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kTensorVarianceParameters[] = {
    kCollectionNames,
    kTensorRegex,
    {.name = "max_threshold",
     .type = ParameterType::real,
     .default_text = "",
     .description =
         "The rule fires if a variance is above this; default: no upper bound.",
     .minimum = 0.0},
    {.name = "min_threshold",
     .type = ParameterType::real,
     .default_text = "",
     .description = "The rule fires if a variance is below this; default: no "
                    "lower bound. One of the two bounds is required.",
     .minimum = 0.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kTensorVarianceAdvice[] = {
    {.when = "too large",
     .cause = "inputs that are not normalized, a large initialization, or a "
              "learning rate that is too high: values this far apart saturate "
              "the next layers",
     .advice = "normalize the inputs or the layer, choose a smaller "
               "initialization, or lower the learning rate"},
    {.when = "too small",
     .cause = "dead units, a layer that is not connected, or a small "
              "initialization: values this close carry hardly any signal",
     .advice = "look for dead units or an unconnected layer, and choose a "
               "larger initialization"},
};

struct VarianceLimits {
  std::optional<double> max, min;
};

// A single element, and the scale of a normalization, which begins as ones.
bool varies_by_design(const Observation& tensor) {
  const TensorStatistics* statistics = tensor.statistics;
  // The original's reductions come without a shape.
  const bool is_single =
      statistics ? statistics->count == 1
                 : !tensor.shape.empty() && element_count(tensor.shape) == 1;
  const bool is_all_ones = tensor.shape.size() == 1 && statistics &&
                           statistics->nan == 0 && statistics->min == 1 &&
                           statistics->max == 1;
  return !is_single && !is_all_ones;
}

class TensorVariance : public ThresholdRule {
 public:
  TensorVariance(TensorSelector selector, const VarianceLimits& limits)
      : ThresholdRule(std::move(selector), "variance"), limits_(limits) {}

 private:
  Result<std::optional<double>> measure(const Observation& tensor) override {
    if (!varies_by_design(tensor)) return std::optional<double>();
    return variance_of(tensor);
  }

  std::optional<Bound> violated_bound(double variance) const override {
    if (limits_.max && variance > *limits_.max) return Bound{">", *limits_.max};
    if (limits_.min && variance < *limits_.min) return Bound{"<", *limits_.min};
    return std::nullopt;
  }

  std::string amount_text(double variance) const override {
    return "a variance of " + short_number(variance);
  }

  std::string describe(const Evidence& worst) const override {
    return fmt::format("{}: the variance {} in layer {} is {} {:g} at {}",
                       tensor_text(worst.tensor, worst.worker),
                       short_number(worst.value), layer_of(worst.tensor),
                       worst.relation == ">" ? "above" : "below",
                       *worst.threshold, step_text(worst.step));
  }

  std::string describe_all(std::size_t offenders, std::size_t) const override {
    return fmt::format("{} tensors of this step are out of bounds", offenders);
  }

  const Advice& advice_on(const Evidence& worst) const override {
    return kTensorVarianceAdvice[worst.relation == ">" ? 0 : 1];
  }

  VarianceLimits limits_;
};

Result<std::unique_ptr<Rule>> make_tensor_variance(
    const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  VarianceLimits limits;
  if (parameters.has("max_threshold")) {
    limits.max = parameters.real("max_threshold");
  }
  if (parameters.has("min_threshold")) {
    limits.min = parameters.real("min_threshold");
  }
  if (!limits.max && !limits.min) {
    return Error{Error::Code::invalid_config,
                 "rule TensorVariance: neither max_threshold nor min_threshold "
                 "is given; give at least one of them"};
  }
  return make_rule<TensorVariance>(std::move(selector), limits);
}

}  // namespace

const RuleFactory kTensorVariance = {
    .name = "TensorVariance",
    .summary = "The variance of a tensor is too large or too small.",
    .condition =
        "Fires when the variance of a tensor is above 'max_threshold' or "
        "below 'min_threshold'.",
    .advice = kTensorVarianceAdvice,
    .parameters = kTensorVarianceParameters,
    .make = make_tensor_variance,
};

}  // namespace smdebug
