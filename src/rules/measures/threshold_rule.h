#pragma once

// `ThresholdRule` is the base of rules that compare one number of each selected
// tensor with a threshold. It collects the evidence of a step and assembles
// the message; a derived rule computes the number and words its sentences.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/rules/rule.h"

#include "rules/measures/adjacent_layers.h"

namespace smdebug {

class ThresholdRule : public Rule {
 public:
  RuleNeeds needs() const override { return {{selector_}}; }
  Outcome on_step(const RuleStep& step) final;

 protected:
  struct Bound {
    std::string_view relation;  // "<", ">=": how a value violates it
    double threshold = 0;
  };

  // `quantity` names the number in the evidence: "mean |g|".
  ThresholdRule(TensorSelector selector, std::string_view quantity)
      : selector_(std::move(selector)), quantity_(quantity) {}

  // Returns the number of a tensor, or none if it has none. Fails with `io`.
  virtual Result<std::optional<double>> measure(const Observation& tensor) = 0;

  // Returns the bound that `value` violates, if any.
  virtual std::optional<Bound> violated_bound(double value) const = 0;

  // Returns the bound that each tensor of a step violates, if any, by position,
  // instead of `violated_bound`; none if that decides. Called for every step; a
  // step may be judged twice.
  using Bounds = std::vector<std::optional<Bound>>;
  virtual std::optional<Bounds> violated_bounds(
      std::span<const JudgedTensor> /*judged*/, const RuleStep& /*step*/) {
    return std::nullopt;
  }

  // Returns whether this many offenders suffice for the rule to fire.
  virtual bool is_met(std::size_t offenders, std::size_t /*judged*/) const {
    return offenders > 0;
  }

  // Returns a number with its unit, for the message: "a variance of 3".
  virtual std::string amount_text(double value) const = 0;

  // Return the message about the worst offender, and the clause that follows
  // "; " if there are several tensors: "3 tensors of this step are". A tensor
  // counts once, however many workers saved it.
  virtual std::string describe(const Evidence& worst) const = 0;
  virtual std::string describe_all(std::size_t offenders,
                                   std::size_t judged) const = 0;

  virtual const Advice& advice_on(const Evidence& worst) const = 0;

 private:
  Evidence violation(const JudgedTensor& judged, const Bound& bound,
                     const RuleStep& step) const;

  // Tensors of the step, each counted once.
  std::size_t names_judged() const;

  TensorSelector selector_;
  std::string_view quantity_;
  std::vector<JudgedTensor> judged_;  // of a step
};

}  // namespace smdebug
