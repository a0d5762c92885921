#include "smdebug/report/likely_cause.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "smdebug/core/mode.h"

#include "report/json_parts.h"
#include "report/wording.h"

namespace smdebug {
namespace {

bool has_fired(const Verdict& verdict) {
  return verdict.status == RuleStatus::issues_found;
}

// How near to the mistake a rule looks, the nearest first.
enum class Distance {
  data,    // what the training is given
  script,  // a mistake in the script, which holds from the first step on
  initialization,  // what the training starts from
  update,          // the size of the updates
  symptom,         // what any of these does to tensors
};

Distance distance_of(std::string_view rule) {
  static constexpr std::pair<std::string_view, Distance> kDistances[] = {
      {"LabelsAndInputs", Distance::data},
      {"GradientsNotCleared", Distance::script},
      {"ParametersNotTrained", Distance::script},
      {"WrongMode", Distance::script},
      {"LossInput", Distance::script},
      {"ReplicasDiffer", Distance::script},
      {"PoorWeightInitialization", Distance::initialization},
      {"WeightUpdateRatio", Distance::update},
  };
  const auto* found = std::ranges::find(kDistances, rule,
                                        [](const auto& e) { return e.first; });
  return found == std::end(kDistances) ? Distance::symptom : found->second;
}

// Whether the verdict reports what a mistake does to the training.
bool is_symptom(const Verdict& verdict) {
  return has_fired(verdict) && verdict.severity != Severity::advice &&
         distance_of(verdict.rule) > Distance::script;
}

// Whether it reports layers that pass on neither inputs nor gradients.
bool has_dead_layers(const Verdict& verdict) {
  return has_fired(verdict) &&
         (verdict.rule == "VanishingGradient" || verdict.rule == "DeadRelu");
}

// The order of the verdicts of one run.
class CauseOrder {
 public:
  explicit CauseOrder(std::span<const Verdict> verdicts)
      : has_symptom_(std::ranges::any_of(verdicts, is_symptom)),
        has_dead_layers_(std::ranges::any_of(verdicts, has_dead_layers)) {}

  // Dead layers give all samples the same output: what a loss is given, if only
  // its values show it, is then a symptom.
  Distance distance(const Verdict& verdict) const {
    const bool is_shown_by_values = verdict.severity == Severity::warning;
    if (has_dead_layers_ && is_shown_by_values && verdict.rule == "LossInput")
      return Distance::symptom;
    return distance_of(verdict.rule);
  }

  // Data of an unusual scale are advice until something goes wrong.
  bool is_cause(const Verdict& verdict) const {
    return has_fired(verdict) &&
           (verdict.severity != Severity::advice ||
            (has_symptom_ && distance_of(verdict.rule) == Distance::data));
  }

  // Data and mistakes in the script come before everything that they lead to,
  // although some rules need more steps to see them. All else is ordered by
  // onset. Verdicts that name no tensor of their step come last within it.
  bool operator()(const Verdict& a, const Verdict& b) const {
    return place_of(a) < place_of(b);
  }

 private:
  std::tuple<bool, bool, Distance, Step, Distance, std::size_t> place_of(
      const Verdict& verdict) const {
    if (!has_fired(verdict))
      return {true, true, Distance::symptom, 0, Distance::symptom, 0};
    const Distance near = distance(verdict);
    return {false,
            !is_cause(verdict),
            near > Distance::script ? Distance::symptom : near,
            verdict.step.global,
            near,
            verdict.position.value_or(std::numeric_limits<std::size_t>::max())};
  }

  bool has_symptom_;
  bool has_dead_layers_;
};

}  // namespace

std::vector<Verdict> in_order_of_cause(std::span<const Verdict> verdicts) {
  const CauseOrder order(verdicts);
  std::vector<Verdict> ordered(verdicts.begin(), verdicts.end());
  std::ranges::stable_sort(ordered, order);
  for (Verdict& verdict : ordered) {
    const bool is_advice = verdict.severity == Severity::advice;
    if (is_advice && order.is_cause(verdict))
      verdict.severity = Severity::warning;
  }
  return ordered;
}

const Verdict* likely_cause(std::span<const Verdict> verdicts) {
  const CauseOrder order(verdicts);
  const auto is_cause = [&](const Verdict& verdict) {
    return order.is_cause(verdict);
  };
  if (std::ranges::count_if(verdicts, is_cause) < 2) return nullptr;
  return &*std::ranges::min_element(verdicts, order);
}

std::string likely_cause_text(std::span<const Verdict> verdicts) {
  const Verdict* cause = likely_cause(verdicts);
  if (!cause) return "";
  std::string place = "at " + step_text(cause->step);
  if (!cause->evidence.empty() && !cause->evidence.front().tensor.empty()) {
    place += ", in " + cause->evidence.front().tensor;
  }
  const CauseOrder order(verdicts);
  const auto fired = std::ranges::count_if(
      verdicts,
      [&](const Verdict& verdict) { return order.is_cause(verdict); });
  if (order.distance(*cause) <= Distance::script) {
    return fmt::format(
        "{} {}, which can explain {}", cause->rule, place,
        fired == 2 ? "the other rule that fired"
                   : fmt::format("the {} other rules that fired", fired - 1));
  }
  return fmt::format("{} {}, the first of {} rules that fired", cause->rule,
                     place, fired);
}

Json likely_cause_json(std::span<const Verdict> verdicts) {
  const Verdict* cause = likely_cause(verdicts);
  if (!cause) return Json();
  const bool has_tensor = !cause->evidence.empty();
  return Json::Object{
      {"rule", cause->rule},
      {"step", to_json(cause->step)},
      {"tensor", has_tensor ? Json(cause->evidence.front().tensor) : Json()},
      {"text", likely_cause_text(verdicts)}};
}

}  // namespace smdebug
