#include "rules/engine/verdict_json.h"

#include "rules/engine/layer_name.h"

namespace smdebug {
namespace {

template <typename Range>
Json array_of(const Range& elements) {
  Json array = Json::Array();
  for (const auto& element : elements) array.append(to_json(element));
  return array;
}

}  // namespace

Json to_json(const StepId& step) {
  return Json::Object{{"global", step.global},
                      {"mode", mode_name(step.mode)},
                      {"mode_step", step.mode_step}};
}

Json to_json(const std::optional<AdjacentLayer>& layer) {
  if (!layer) return Json();
  return Json::Object{{"tensor", layer->tensor},
                      {"layer", layer_of(layer->tensor)},
                      {"value", layer->value}};
}

Json to_json(const Evidence& evidence) {
  return Json::Object{{"tensor", evidence.tensor},
                      {"layer", layer_of(evidence.tensor)},
                      {"worker", evidence.worker},
                      {"step", to_json(evidence.step)},
                      {"quantity", evidence.quantity},
                      {"value", evidence.value},
                      {"relation", evidence.relation},
                      {"threshold", Json(evidence.threshold)},
                      {"before", to_json(evidence.before)},
                      {"after", to_json(evidence.after)}};
}

Json to_json(const Verdict& verdict) {
  Json parameters = Json::Object();
  for (const auto& [name, text] : verdict.parameters) parameters[name] = text;
  return Json::Object{
      {"rule", verdict.rule},
      {"parameters", std::move(parameters)},
      {"status", rule_status_name(verdict.status)},
      {"severity",
       verdict.severity ? Json(severity_name(*verdict.severity)) : Json()},
      {"kind", verdict.kind.empty() ? Json() : Json(verdict.kind)},
      {"step", to_json(verdict.step)},
      {"message", verdict.message},
      {"cause", verdict.cause},
      {"advice", verdict.advice},
      {"note", verdict.note.empty() ? Json() : Json(verdict.note)},
      {"evidence", array_of(verdict.evidence)},
      {"steps_judged", verdict.steps_judged},
      {"observations_found", verdict.observations_found},
      {"observations_judged", verdict.observations_judged}};
}

Json to_json(const ActionResult& result) {
  return Json::Object{{"rule", result.rule},
                      {"action", result.action},
                      {"target", result.target},
                      {"status", action_status_name(result.status)},
                      {"message", result.message}};
}

Json to_json(std::span<const Verdict> verdicts) { return array_of(verdicts); }

Json to_json(std::span<const ActionResult> results) {
  return array_of(results);
}

}  // namespace smdebug
