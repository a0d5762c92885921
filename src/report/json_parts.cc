#include "report/json_parts.h"

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

Json to_json(const Evidence& evidence) {
  return Json::Object{{"tensor", evidence.tensor},
                      {"worker", evidence.worker},
                      {"step", to_json(evidence.step)},
                      {"quantity", evidence.quantity},
                      {"value", evidence.value},
                      {"relation", evidence.relation},
                      {"threshold", Json(evidence.threshold)}};
}

Json to_json(const Verdict& verdict) {
  return Json::Object{{"rule", verdict.rule},
                      {"status", rule_status_name(verdict.status)},
                      {"step", to_json(verdict.step)},
                      {"message", verdict.message},
                      {"advice", verdict.advice},
                      {"evidence", array_of(verdict.evidence)},
                      {"steps_judged", verdict.steps_judged},
                      {"observations_judged", verdict.observations_judged}};
}

Json to_json(std::span<const Verdict> verdicts) { return array_of(verdicts); }

Json to_json(const TensorStatistics& s) {
  return Json::Object{{"count", s.count},
                      {"nan", s.nan},
                      {"positive_inf", s.positive_inf},
                      {"negative_inf", s.negative_inf},
                      {"zeros", s.zeros},
                      {"min", s.min},
                      {"max", s.max},
                      {"mean", s.mean},
                      {"m2", s.m2},
                      {"sum_abs", s.sum_abs},
                      {"sum_squares", s.sum_squares}};
}

Json to_json(std::span<const std::string> texts) {
  Json array = Json::Array();
  for (const std::string& text : texts) array.append(text);
  return array;
}

Json to_json(std::span<const std::int64_t> numbers) {
  Json array = Json::Array();
  for (const std::int64_t number : numbers) array.append(number);
  return array;
}

}  // namespace smdebug
