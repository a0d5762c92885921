#include "rules/measures/threshold_rule.h"

#include <set>

#include "smdebug/base/try.h"

#include "rules/engine/finding.h"

namespace smdebug {

Outcome ThresholdRule::on_step(const RuleStep& step) {
  judged_.clear();
  std::vector<Evidence> offenders;
  for (const Observation* tensor : step.by_selector(0)) {
    SMD_TRY(const auto value, measure(*tensor));
    if (!value) continue;
    judged_.push_back({tensor, *value});
    if (const auto bound = violated_bound(*value))
      offenders.push_back(violation(judged_.back(), *bound, step));
  }
  count_judged(judged_.size());
  if (const auto bounds = violated_bounds(judged_, step)) {
    offenders.clear();
    for (std::size_t i = 0; i < judged_.size(); ++i) {
      if (const auto& bound = (*bounds)[i])
        offenders.push_back(violation(judged_[i], *bound, step));
    }
  }
  if (!is_met(offenders.size(), judged_.size())) return no_finding();
  sort_worst_first(offenders);
  Finding finding;
  finding.message = describe(offenders.front());
  finding.message += describe_adjacent_layers(
      judged_, offenders.front(),
      [this](const JudgedTensor& one) { return amount_text(one.value); });
  const TensorCount found = count_tensors(offenders);
  finding.message +=
      others_text(found, describe_all(found.tensors, names_judged()));
  set_advice(finding, advice_on(offenders.front()));
  finding.evidence = std::move(offenders);
  return std::optional(std::move(finding));
}

Evidence ThresholdRule::violation(const JudgedTensor& judged,
                                  const Bound& bound,
                                  const RuleStep& step) const {
  Evidence evidence = evidence_of(*judged.tensor, step.step);
  evidence.quantity = quantity_;
  evidence.value = judged.value;
  evidence.relation = bound.relation;
  evidence.threshold = bound.threshold;
  return evidence;
}

std::size_t ThresholdRule::names_judged() const {
  std::set<std::string_view> names;
  for (const JudgedTensor& one : judged_) names.insert(one.tensor->name);
  return names.size();
}

}  // namespace smdebug
