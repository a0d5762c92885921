#include "rules/measures/threshold_rule.h"

#include <set>

#include "smdebug/base/try.h"

#include "rules/engine/finding.h"

namespace smdebug {

Outcome ThresholdRule::on_step(const RuleStep& step) {
  judged_.clear();
  offenders_.clear();
  std::vector<Evidence> offenders;
  for (const Observation* tensor : step.by_selector(0)) {
    SMD_TRY(const auto value, measure(*tensor));
    if (!value) continue;
    judged_.push_back({tensor, *value});
    const auto bound = violated_bound(*value);
    if (!bound) continue;
    offenders_.push_back(judged_.size() - 1);
    Evidence evidence = evidence_of(*tensor, step.step);
    evidence.quantity = quantity_;
    evidence.value = *value;
    evidence.relation = bound->relation;
    evidence.threshold = bound->threshold;
    offenders.push_back(std::move(evidence));
  }
  if (const auto may_offend = eligible(judged_, step)) {
    keep_eligible(offenders, *may_offend);
  }
  count_judged(judged_.size());
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

void ThresholdRule::keep_eligible(std::vector<Evidence>& offenders,
                                  const std::vector<bool>& may_offend) const {
  std::vector<Evidence> kept;
  for (std::size_t i = 0; i < offenders.size(); ++i) {
    if (may_offend[offenders_[i]]) kept.push_back(std::move(offenders[i]));
  }
  offenders = std::move(kept);
}

std::size_t ThresholdRule::names_judged() const {
  std::set<std::string_view> names;
  for (const JudgedTensor& one : judged_) names.insert(one.tensor->name);
  return names.size();
}

}  // namespace smdebug
