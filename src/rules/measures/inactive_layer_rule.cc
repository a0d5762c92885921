#include "rules/measures/inactive_layer_rule.h"

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/engine/finding.h"
#include "rules/measures/adjacent_layers.h"

namespace smdebug {

Outcome InactiveLayerRule::on_step(const RuleStep& step) {
  Finding finding;
  std::vector<JudgedTensor> judged;
  double worst = 0;
  for (const Input& input : inputs_of(step)) {
    ++seen_;
    SMD_TRY(const auto activity, layers_.judge(*input.tensor, *input.range));
    if (!activity) continue;
    count_judged();
    judged.push_back({input.tensor, activity->inactive_percent});
    if (!layers_.is_met(*activity)) continue;
    if (activity->inactive_percent > worst) {
      worst = activity->inactive_percent;
      finding.message = describe(input, *activity, step.step);
    }
    Evidence evidence = evidence_of(*input.tensor, step.step);
    evidence.quantity = words_.quantity;
    evidence.value = activity->inactive_percent;
    evidence.relation = ">";
    evidence.threshold = layers_.limits().layer_percent;
    finding.evidence.push_back(std::move(evidence));
  }
  if (finding.evidence.empty()) return no_finding();
  sort_worst_first(finding.evidence);
  finding.message += describe_adjacent_layers(
      judged, finding.evidence.front(), [this](const JudgedTensor& one) {
        return fmt::format("{:.3g} % {}", one.value, words_.units);
      });
  const TensorCount found = count_tensors(finding.evidence);
  finding.message += others_text(
      found,
      fmt::format("this applies to {} layers of this step", found.tensors));
  const bool is_initial = step.step.global == 0;
  set_advice(finding, is_initial ? advice_.front() : advice_.back());
  return std::optional(std::move(finding));
}

Outcome InactiveLayerRule::finish() {
  if (has_judged() || seen_ == 0) return no_finding();
  return Error{
      Error::Code::not_found,
      fmt::format("nothing to judge: {} were seen {}, but {}", words_.tensors,
                  count_text(seen_, "time"), layers_.why_not())};
}

std::string InactiveLayerRule::describe(const Input& input,
                                        const LayerActivity& activity,
                                        const StepId& step) const {
  const InactiveLimits& limits = layers_.limits();
  return fmt::format(
      "{}: {} ({:.3g} %) {} in less than {:g} % of the samples, more than the "
      "{:g} % allowed, at {}",
      tensor_text(input.tensor->name, input.tensor->worker),
      InactiveLayers::units_text(*input.tensor, activity),
      activity.inactive_percent, active_text(*input.range),
      limits.inactivity_percent, limits.layer_percent, step_text(step));
}

}  // namespace smdebug
