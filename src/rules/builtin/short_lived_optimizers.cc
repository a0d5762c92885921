// ShortLivedOptimizers: optimizers are replaced before their averages of the
// gradients are of any use.
//
// The hook counts the optimizers that keep averages, acted at most twice and
// were then replaced by another one for the same parameters
// (`LoopFacts::short_lived_optimizers`). A training may begin a new phase with
// a new optimizer, but not one phase after another. The original has no such
// rule.

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/facts_rule.h"

namespace smdebug {
namespace {

const ParameterSpec kShortLivedOptimizersParameters[] = {
    {.name = "num_optimizers",
     .type = ParameterType::integer,
     .default_text = "10",
     .description = "Number of short-lived optimizers from which on the rule "
                    "fires.",
     .minimum = 1.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kShortLivedOptimizersAdvice[] = {
    {.cause = "an optimizer that is constructed for each update: the averages "
              "of the gradients that it keeps start at 0 each time, so each "
              "update follows a single batch, with the size of a first update",
     .advice = "construct the optimizer once, before the loop"},
};

class ShortLivedOptimizers : public FactsRule {
 public:
  explicit ShortLivedOptimizers(const Parameters& parameters)
      : most_(
            static_cast<std::uint64_t>(parameters.integer("num_optimizers"))) {}

  Outcome finish() override {
    if (auto found = judge_rest()) return found;
    if (has_judged()) return no_finding();
    return Error{Error::Code::unsupported,
                 "nothing to judge: the run does not show when optimizers were "
                 "replaced; 'smdebug run' records it for PyTorch"};
  }

 private:
  std::optional<Finding> judge(const RunFacts& facts,
                               std::string_view worker) override {
    const auto& counted = facts.loop.short_lived_optimizers;
    if (!counted || facts.optimizers.empty()) return std::nullopt;
    count_judged();
    const std::uint64_t count = *counted;
    if (count < most_) return std::nullopt;
    const std::string& kind = facts.optimizers.back().kind;
    Finding finding;
    finding.message = fmt::format(
        "{}: {} updated the same parameters at most twice each, one after the "
        "other, until {}",
        tensor_text(kind, worker), count_text(count, "optimizer"),
        step_text(last_step()));
    set_advice(finding, kShortLivedOptimizersAdvice[0]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = kind;
    evidence.worker = worker;
    evidence.step = last_step();
    evidence.quantity = "optimizers replaced after at most two updates";
    evidence.value = static_cast<double>(count);
    evidence.relation = ">=";
    evidence.threshold = static_cast<double>(most_);
    return finding;
  }

  std::uint64_t most_;
};

}  // namespace

const RuleFactory kShortLivedOptimizers = {
    .name = "ShortLivedOptimizers",
    .summary =
        "Optimizers are replaced before their averages of the gradients "
        "are of any use.",
    .condition =
        "Fires if at least 'num_optimizers' optimizers that keep averages of "
        "the gradients acted at most twice each and were then replaced by "
        "another one for the same parameters.",
    .advice = kShortLivedOptimizersAdvice,
    .parameters = kShortLivedOptimizersParameters,
    .make = make_rule<ShortLivedOptimizers>,
};

}  // namespace smdebug
