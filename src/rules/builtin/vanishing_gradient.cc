// VanishingGradient: a gradient is so small that its layer no longer learns.
//
//   mean(|g|) < threshold
//
// The documents leave the rest open. `aggregate` decides how many gradients of
// a step must vanish; by default any one suffices. Empty gradients are skipped.
// NaN is never below a threshold; ExplodingTensor detects it.

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "rules/builtin/builtin.h"
#include "rules/engine/preset.h"
#include "rules/engine/step_bounds.h"
#include "rules/engine/wording.h"
#include "rules/measures/adjacent_layers.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    {.name = "threshold",
     .type = ParameterType::real,
     .default_text = "1e-7",
     .description =
         "A gradient whose mean absolute value is below this vanishes.",
     .minimum = 0.0},
    {.name = "aggregate",
     .type = ParameterType::text,
     .default_text = "any",
     .description =
         "How many gradients of a step must vanish: 'any', 'all', or "
         "'fraction:0.5' for at least half of them.",
     .tuned_text = "fraction:0.3"},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kAdvice[] = {
    {.cause = "activations that saturate, many layers without normalization "
              "or residual connections, a poor initialization, or a part of "
              "the graph that does not reach the loss: the layers behind "
              "these gradients no longer learn",
     .advice = "use ReLU-like activations, normalization or residual "
               "connections, check the initialization, and look for a part of "
               "the graph that does not reach the loss"},
};

// How many of `judged` gradients must vanish before the rule fires.
struct Aggregate {
  double fraction = 0;  // 0: one is enough

  static Result<Aggregate> parse(std::string_view text);

  bool is_met(std::size_t vanished, std::size_t judged) const {
    return vanished > 0 && static_cast<double>(vanished) >=
                               fraction * static_cast<double>(judged);
  }
};

Result<Aggregate> Aggregate::parse(std::string_view text) {
  if (text == "any") return Aggregate{0};
  if (text == "all") return Aggregate{1};
  constexpr std::string_view kPrefix = "fraction:";
  double fraction = 0;
  if (text.starts_with(kPrefix)) {
    const auto [end, failure] = std::from_chars(
        text.data() + kPrefix.size(), text.data() + text.size(), fraction);
    if (failure == std::errc() && end == text.data() + text.size() &&
        fraction > 0 && fraction <= 1) {
      return Aggregate{fraction};
    }
  }
  return Error{Error::Code::invalid_config,
               fmt::format("rule VanishingGradient: parameter 'aggregate' "
                           "should be 'any', 'all' or 'fraction:x' with x "
                           "above 0 and up to 1 but is '{}'",
                           text)};
}

class VanishingGradient : public Rule {
 public:
  VanishingGradient(double threshold, Aggregate aggregate)
      : threshold_(threshold), aggregate_(aggregate) {}

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back({.collections = {"gradients"}, .regexes = {}});
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::vector<Evidence> vanished;
    std::size_t judged = 0;
    for (const Observation* gradient : step.by_selector(0)) {
      SMD_TRY(const auto mean,
              quantity(*gradient, {Reduction::mean, /*abs=*/true}));
      if (!mean) continue;
      ++judged;
      if (!(*mean < threshold_)) continue;
      Evidence evidence = evidence_of(*gradient, step.step);
      evidence.quantity = "mean |g|";
      evidence.value = *mean;
      evidence.relation = "<";
      evidence.threshold = threshold_;
      vanished.push_back(std::move(evidence));
    }
    count_judged(judged);
    if (!aggregate_.is_met(vanished.size(), judged)) {
      return no_finding();
    }
    std::ranges::stable_sort(vanished, {}, &Evidence::value);
    SMD_TRY(const std::string adjacent,
            adjacent_layers_text(step.by_selector(0), vanished.front()));
    return std::optional(
        finding(std::move(vanished), judged, adjacent, step.step));
  }

 private:
  static Result<std::string> adjacent_layers_text(
      std::span<const Observation* const> gradients, Evidence& worst) {
    std::vector<JudgedTensor> judged;
    for (const Observation* gradient : gradients) {
      SMD_TRY(const auto mean,
              quantity(*gradient, {Reduction::mean, /*abs=*/true}));
      if (mean) judged.push_back({gradient, *mean});
    }
    return describe_adjacent_layers(judged, worst);
  }

  Finding finding(std::vector<Evidence> vanished, std::size_t judged,
                  const std::string& adjacent, const StepId& step) const {
    const Evidence& worst = vanished.front();
    Finding finding;
    finding.message =
        fmt::format("{}: mean |g| {} is below {:g} at {}",
                    tensor_text(worst.tensor, worst.worker),
                    short_number(worst.value), threshold_, step_text(step));
    finding.message += adjacent;
    if (vanished.size() > 1) {
      finding.message +=
          fmt::format("; {} of {} gradients are", vanished.size(), judged);
    }
    set_advice(finding, kAdvice[0]);
    finding.evidence = std::move(vanished);
    return finding;
  }

  double threshold_;
  Aggregate aggregate_;
};

Result<std::unique_ptr<Rule>> make(const Parameters& parameters) {
  SMD_TRY(const Aggregate aggregate,
          Aggregate::parse(parameters.text("aggregate")));
  return make_rule<VanishingGradient>(parameters.real("threshold"), aggregate);
}

}  // namespace

const RuleFactory kVanishingGradient = {
    .name = "VanishingGradient",
    .summary =
        "The mean absolute value of a gradient is below a threshold, so its "
        "layer no longer learns.",
    .condition =
        "Fires when mean(|g|) < 'threshold' for enough gradients g of a step, "
        "as set by 'aggregate'.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make,
};

}  // namespace smdebug
