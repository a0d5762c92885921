// AllZero: too many elements of a tensor are zero.
//
//   100 * zeros / size >= threshold
//
// The documents leave two things open. A percentage equal to the threshold
// fires, and empty tensors are skipped. Saved reductions show only whether all
// elements are zero, so without statistics only a threshold of 100 is judged.

#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"
#include "rules/measures/threshold_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kAllZeroParameters[] = {
    kCollectionNames,
    kTensorRegex,
    {.name = "threshold",
     .type = ParameterType::real,
     .default_text = "100",
     .description = "The rule fires if at least this percentage of the "
                    "elements of a tensor is zero.",
     .minimum = 0.0,
     .maximum = 100.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kAllZeroAdvice[] = {
    {.cause = "a dead layer, a part of the model that is frozen or not "
              "connected to the loss, weights initialized with zeros, or "
              "inputs that were not loaded: zeros propagate nothing",
     .advice = "find the first such tensor in the direction of the data "
               "(activations) or against it (gradients) and inspect the layer "
               "just before it"},
};

// Returns whether all elements are zero, from saved reductions that are zero
// only if every element is; none without such a reduction. Reductions that
// cannot underflow come first.
std::optional<bool> is_zero_by_reductions(const Observation& observation) {
  const auto min = saved_reduction(observation, {Reduction::min});
  const auto max = saved_reduction(observation, {Reduction::max});
  if (min && max) return *min == 0 && *max == 0;
  constexpr std::array<ReductionOp, 7> kTelling = {{
      {Reduction::max, true},
      {Reduction::l1},
      {Reduction::l1, true},
      {Reduction::sum, true},
      {Reduction::mean, true},
      {Reduction::l2},
      {Reduction::l2, true},
  }};
  for (const ReductionOp op : kTelling) {
    if (const auto value = saved_reduction(observation, op)) return *value == 0;
  }
  return std::nullopt;
}

class AllZero : public ThresholdRule {
 public:
  AllZero(TensorSelector selector, double threshold)
      : ThresholdRule(std::move(selector), "zeros in percent"),
        threshold_(threshold) {}

  Outcome finish() override {
    if (has_judged() || reduced_.empty()) return no_finding();
    return Error{
        Error::Code::not_found,
        fmt::format("nothing to judge: {} tensors have only reductions, which "
                    "do not show whether {:g} % of the elements are zero; save "
                    "values or statistics, or set threshold=100",
                    reduced_.size(), threshold_)};
  }

 private:
  Result<std::optional<double>> measure(const Observation& tensor) override {
    std::optional<double> percent;
    if (!tensor.statistics && !tensor.reductions.empty()) {
      const auto is_zero = is_zero_by_reductions(tensor);
      if (is_zero == true) return std::optional(100.0);
      // Some element is not zero: the share is below 100 %, but unknown.
      if (is_zero && threshold_ == 100) return std::optional(0.0);
    }
    SMD_TRY(const auto statistics, full_statistics(tensor));
    if (!statistics) {
      if (!tensor.reductions.empty()) reduced_.emplace(tensor.name);
    } else if (statistics->count > 0) {
      percent = 100 * static_cast<double>(statistics->zeros) /
                static_cast<double>(statistics->count);
    }
    return percent;
  }

  std::optional<Bound> violated_bound(double percent) const override {
    if (!(percent >= threshold_)) return std::nullopt;
    return Bound{">=", threshold_};
  }

  std::string amount_text(double percent) const override {
    return fmt::format("{:.3g} % zeros", percent);
  }

  std::string describe(const Evidence& worst) const override {
    return fmt::format(
        "{}: {:.3g} % of the elements in layer {} are zero (threshold: {:g} %) "
        "at {}",
        tensor_text(worst.tensor, worst.worker), worst.value,
        layer_of(worst.tensor), threshold_, step_text(worst.step));
  }

  std::string describe_all(std::size_t offenders, std::size_t) const override {
    return fmt::format("this applies to {} tensors of this step", offenders);
  }

  const Advice& advice_on(const Evidence&) const override {
    return kAllZeroAdvice[0];
  }

  double threshold_;
  // Tensors with reductions that do not suffice.
  std::set<std::string, std::less<>> reduced_;
};

Result<std::unique_ptr<Rule>> make_all_zero(const Parameters& parameters) {
  SMD_TRY(TensorSelector selector, required_tensors(parameters));
  return make_rule<AllZero>(std::move(selector), parameters.real("threshold"));
}

}  // namespace

const RuleFactory kAllZero = {
    .name = "AllZero",
    .summary = "Too many elements of a tensor are zero.",
    .condition =
        "Fires when at least 'threshold' percent of the elements of a tensor "
        "are zero.",
    .advice = kAllZeroAdvice,
    .parameters = kAllZeroParameters,
    .make = make_all_zero,
};

}  // namespace smdebug
