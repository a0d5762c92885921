// TensorVariance: the variance of a tensor is too large or too small.
//
//   variance > max_threshold, or variance < min_threshold
//
// The documents leave the details open. The variance is that of the population,
// and a missing threshold is not checked. If only reductions were saved, the
// rule uses the saved variance, however it was computed.

#include <fmt/format.h>

#include "rules/builtin/builtin.h"
#include "rules/engine/evidence.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/preset.h"
#include "rules/engine/selection.h"
#include "rules/engine/step_bounds.h"
#include "rules/engine/wording.h"
#include "rules/measures/adjacent_layers.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    kCollectionNames,
    kTensorRegex,
    {.name = "max_threshold",
     .type = ParameterType::real,
     .default_text = "",
     .description =
         "A variance above this fires; without it, none is too large.",
     .minimum = 0.0},
    {.name = "min_threshold",
     .type = ParameterType::real,
     .default_text = "",
     .description =
         "A variance below this fires; without it, none is too small. "
         "One of the two is needed.",
     .minimum = 0.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kAdvice[] = {
    {.when = "too large",
     .cause = "inputs that are not normalized, a large initialization, or a "
              "learning rate that is too high: values this far apart saturate "
              "what follows",
     .advice = "normalize the inputs or the layer, choose a smaller "
               "initialization, or lower the learning rate"},
    {.when = "too small",
     .cause = "units that have died, a layer that is not connected, or a "
              "small initialization: values this close carry hardly any "
              "signal",
     .advice = "look for dead units or an unconnected layer, and choose a "
               "larger initialization"},
};

struct Limits {
  std::optional<double> max, min;
};

class TensorVariance : public Rule {
 public:
  TensorVariance(TensorSelector selector, const Limits& limits)
      : selector_(std::move(selector)), limits_(limits) {}

  RuleNeeds needs() const override { return {{selector_}}; }

  Outcome on_step(const RuleStep& step) override {
    std::vector<Evidence> offenders;
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(const auto variance, variance_of(*tensor));
      if (!variance) continue;
      count_judged();
      const bool is_large = limits_.max && *variance > *limits_.max;
      if (!is_large && !(limits_.min && *variance < *limits_.min)) continue;
      Evidence evidence = evidence_of(*tensor, step.step);
      evidence.quantity = "variance";
      evidence.value = *variance;
      evidence.relation = is_large ? ">" : "<";
      evidence.threshold = is_large ? limits_.max : limits_.min;
      offenders.push_back(std::move(evidence));
    }
    if (offenders.empty()) return no_finding();
    sort_worst_first(offenders);
    SMD_TRY(const std::string adjacent,
            adjacent_layers_text(step.by_selector(0), offenders.front()));
    return std::optional(finding(std::move(offenders), adjacent, step.step));
  }

 private:
  static Result<std::string> adjacent_layers_text(
      std::span<const Observation* const> tensors, Evidence& worst) {
    std::vector<JudgedTensor> judged;
    for (const Observation* tensor : tensors) {
      SMD_TRY(const auto variance, variance_of(*tensor));
      if (variance) judged.push_back({tensor, *variance});
    }
    return describe_adjacent_layers(judged, worst);
  }

  static Finding finding(std::vector<Evidence> offenders,
                         const std::string& adjacent, const StepId& step) {
    const Evidence& worst = offenders.front();
    const bool is_large = worst.relation == ">";
    Finding finding;
    finding.message = fmt::format(
        "{}: the variance {} in layer {} is {} {:g} at {}",
        tensor_text(worst.tensor, worst.worker), short_number(worst.value),
        layer_of(worst.tensor), is_large ? "above" : "below", *worst.threshold,
        step_text(step));
    finding.message += adjacent;
    if (offenders.size() > 1) {
      finding.message += fmt::format(
          "; {} tensors of this step are out of "
          "bounds",
          offenders.size());
    }
    set_advice(finding, kAdvice[is_large ? 0 : 1]);
    finding.evidence = std::move(offenders);
    return finding;
  }

  TensorSelector selector_;
  Limits limits_;
};

Result<std::unique_ptr<Rule>> make(const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  Limits limits;
  if (parameters.has("max_threshold")) {
    limits.max = parameters.real("max_threshold");
  }
  if (parameters.has("min_threshold")) {
    limits.min = parameters.real("min_threshold");
  }
  if (!limits.max && !limits.min) {
    return Error{Error::Code::invalid_config,
                 "rule TensorVariance: neither max_threshold nor min_threshold "
                 "is given, so there is nothing to check; give one of them"};
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
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make,
};

}  // namespace smdebug
