#include "rules/measures/threshold_rule.h"

#include <set>

#include "smdebug/base/try.h"

#include "rules/engine/finding.h"

namespace smdebug {

Outcome ThresholdRule::on_step(const RuleStep& step) {
  judged_.clear();
  for (const Observation* tensor : step.by_selector(0)) {
    SMD_TRY(const auto value, measure(*tensor));
    if (value) judged_.push_back({tensor, *value});
  }
  count_judged(judged_.size());
  std::vector<Evidence> offenders = violations(step);
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

std::vector<std::optional<ThresholdRule::Bound>> ThresholdRule::violated_bounds(
    std::span<const JudgedTensor> judged, const RuleStep& /*step*/) {
  std::vector<std::optional<Bound>> bounds;
  bounds.reserve(judged.size());
  for (const JudgedTensor& one : judged) {
    bounds.push_back(violated_bound(one.value));
  }
  return bounds;
}

std::vector<Evidence> ThresholdRule::violations(const RuleStep& step) {
  const auto bounds = violated_bounds(judged_, step);
  std::vector<Evidence> offenders;
  for (std::size_t i = 0; i < judged_.size(); ++i) {
    if (!bounds[i]) continue;
    Evidence evidence = evidence_of(*judged_[i].tensor, step.step);
    evidence.quantity = quantity_;
    evidence.value = judged_[i].value;
    evidence.relation = bounds[i]->relation;
    evidence.threshold = bounds[i]->threshold;
    offenders.push_back(std::move(evidence));
  }
  return offenders;
}

std::size_t ThresholdRule::names_judged() const {
  std::set<std::string_view> names;
  for (const JudgedTensor& one : judged_) names.insert(one.tensor->name);
  return names.size();
}

}  // namespace smdebug
