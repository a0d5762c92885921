// VanishingGradient: a gradient is so small that its layer no longer learns.
//
//   mean(|g|) < threshold
//
// The documents leave the rest open. `aggregate` decides how many gradients of
// a step must vanish; by default any one suffices. Empty gradients are skipped.
// NaN is never below a threshold; ExplodingTensor detects it. Tuned, gradients
// far smaller than others of their shape count too, and those that are small
// for a while or for a harmless reason do not
// (rules/measures/small_gradients.h).

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"
#include "rules/measures/small_gradients.h"
#include "rules/measures/threshold_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kVanishingGradientParameters[] = {
    {.name = "threshold",
     .type = ParameterType::real,
     .default_text = "1e-7",
     .description =
         "A gradient vanishes if its mean absolute value is below this.",
     .minimum = 0.0},
    {.name = "relative_threshold",
     .type = ParameterType::real,
     .default_text = "0",
     .description = "A gradient vanishes as well if its mean absolute value is "
                    "below this share of the largest one of its shape in the "
                    "step, where at least four gradients have that shape. 0 "
                    "compares none.",
     .minimum = 0.0,
     .tuned_text = "1e-4"},
    {.name = "aggregate",
     .type = ParameterType::text,
     .default_text = "any",
     .description = "Which gradients of a step must vanish: 'any', 'all', or "
                    "'fraction:0.5' for at least half of them.",
     .tuned_text = "fraction:0.3"},
    {.name = "patience",
     .type = ParameterType::integer,
     .default_text = "0",
     .description = "Number of steps over which a gradient must be below the "
                    "threshold whenever it is saved, without growing tenfold.",
     .minimum = 0.0,
     .tuned_text = "40"},
    {.name = "in_context",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether a gradient passes if the largest one of the step "
                    "has shrunk as much since the first saved step, or if it "
                    "is not 0 and its layer has another one that is a hundred "
                    "times as large.",
     .tuned_text = "true"},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kVanishingGradientAdvice[] = {
    {.cause =
         "saturated activations, many layers without normalization or residual "
         "connections, a poor initialization, or a part of the graph that does "
         "not reach the loss: the layers with these gradients no longer learn",
     .advice = "use ReLU-like activations, normalization or residual "
               "connections, check the initialization, and look for parts of "
               "the graph that do not reach the loss"},
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

class VanishingGradient : public ThresholdRule {
 public:
  VanishingGradient(const Parameters& parameters, Aggregate aggregate)
      : ThresholdRule({.collections = {"gradients"}, .regexes = {}},
                      "mean |g|"),
        threshold_(parameters.real("threshold")),
        relative_threshold_(parameters.real("relative_threshold")),
        patience_(parameters.integer("patience")),
        aggregate_(aggregate) {
    const bool in_context = parameters.boolean("in_context");
    if (patience_ == 0 && relative_threshold_ == 0 && !in_context) return;
    small_.emplace(
        SmallGradients::Limits{.threshold = threshold_,
                               .relative_threshold = relative_threshold_,
                               .patience = patience_,
                               .in_context = in_context});
  }

  Outcome finish() override {
    if (!has_judged()) return no_finding();
    return fail_if_too_few(last_ - first_ + 1, "step", patience_ + 1);
  }

 private:
  Result<std::optional<double>> measure(const Observation& gradient) override {
    return quantity(gradient, {Reduction::mean, /*abs=*/true});
  }

  std::optional<Bound> violated_bound(double mean) const override {
    if (!(mean < threshold_)) return std::nullopt;
    return Bound{"<", threshold_};
  }

  std::optional<Bounds> violated_bounds(std::span<const JudgedTensor> gradients,
                                        const RuleStep& step) override {
    if (!gradients.empty()) {
      last_ = step.step.global;
      if (first_ < 0) first_ = last_;
    }
    if (!small_) return std::nullopt;
    Bounds bounds;
    for (const std::optional<double> bound :
         small_->vanishing(gradients, step.step.global)) {
      bounds.push_back(bound ? std::optional(Bound{"<", *bound})
                             : std::nullopt);
    }
    return bounds;
  }

  bool is_met(std::size_t vanished, std::size_t judged) const override {
    return aggregate_.is_met(vanished, judged);
  }

  std::string amount_text(double mean) const override {
    return "mean |g| " + short_number(mean);
  }

  std::string describe(const Evidence& worst) const override {
    return fmt::format("{}: mean |g| {} is below {} at {}{}",
                       tensor_text(worst.tensor, worst.worker),
                       short_number(worst.value), bound_text(*worst.threshold),
                       step_text(worst.step), before_text());
  }

  std::string describe_all(std::size_t vanished,
                           std::size_t judged) const override {
    return fmt::format("this applies to {} of {} gradients of this step",
                       vanished, judged);
  }

  const Advice& advice_on(const Evidence&) const override {
    return kVanishingGradientAdvice[0];
  }

  std::string bound_text(double bound) const {
    if (bound == threshold_) return fmt::format("{:g}", threshold_);
    return fmt::format("{}, {:g} times the largest gradient of its shape,",
                       short_number(bound), relative_threshold_);
  }

  std::string before_text() const {
    if (patience_ == 0) return "";
    return fmt::format(", as in the {} before it",
                       count_text(std::size_t(patience_), "step"));
  }

  double threshold_;
  double relative_threshold_;
  std::int64_t patience_;
  std::optional<SmallGradients> small_;  // none: every small one counts
  Aggregate aggregate_;
  Step first_ = -1, last_ = -1;  // with gradients
};

Result<std::unique_ptr<Rule>> make_vanishing_gradient(
    const Parameters& parameters) {
  SMD_TRY(const Aggregate aggregate,
          Aggregate::parse(parameters.text("aggregate")));
  return make_rule<VanishingGradient>(parameters, aggregate);
}

}  // namespace

const RuleFactory kVanishingGradient = {
    .name = "VanishingGradient",
    .summary =
        "The mean absolute value of a gradient is below a threshold, so its "
        "layer no longer learns.",
    .condition =
        "Fires when mean(|g|) < 'threshold', or 'relative_threshold' times "
        "that "
        "of another gradient of the same shape, over 'patience' steps for "
        "enough gradients g of a step, as set by 'aggregate'.",
    .advice = kVanishingGradientAdvice,
    .parameters = kVanishingGradientParameters,
    .make = make_vanishing_gradient,
};

}  // namespace smdebug
