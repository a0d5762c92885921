#include "actions/rule_event.h"

#include "smdebug/actions/action.h"

#include "base/environment.h"
#include "base/utc_time.h"
#include "rules/engine/verdict_json.h"

namespace smdebug {
namespace {

constexpr std::size_t kMaxDetails = 1024;  // as in the cloud's API

std::string job_name(const std::string& run) {
  const auto named = environment_variable("TRAINING_JOB_NAME");
  if (named && !named->empty()) return *named;
  std::string_view path = run;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// At most `limit` bytes, and no torn character of UTF-8.
std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 &&
         (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) {
    --limit;
  }
  text.resize(limit);
  return text;
}

}  // namespace

std::string status_details(const Verdict& verdict) {
  if (verdict.status == RuleStatus::issues_found) {
    return cut("RuleEvaluationConditionMet: Evaluation of the rule " +
                   verdict.rule + " at step " +
                   std::to_string(verdict.step.global) +
                   " resulted in the condition being met\n",
               kMaxDetails);
  }
  return cut(verdict.message, kMaxDetails);
}

Json rule_event(const std::string& run, const Verdict& verdict,
                std::string_view training_status, double wall_seconds) {
  const std::string time = utc_text(wall_seconds);
  Json status =
      Json::Object{{"RuleConfigurationName", verdict.rule},
                   {"RuleEvaluationStatus", rule_status_name(verdict.status)},
                   {"StatusDetails", status_details(verdict)},
                   {"LastModifiedTime", time}};
  return Json::Object{
      {"version", "0"},
      {"detail-type", "SageMaker Training Job State Change"},
      {"source", "smdebug"},
      {"time", time},
      {"resources", Json::Array{run}},
      {"detail", Json::Object{{"TrainingJobName", job_name(run)},
                              {"TrainingJobStatus", training_status},
                              {"DebugRuleEvaluationStatuses",
                               Json::Array{std::move(status)}}}}};
}

std::string alert_json(const Alert& alert) {
  const Verdict& verdict = alert.verdict;
  const Json json = Json::Object{
      {"version", 1},
      {"text", verdict.rule + ": " + verdict.message},
      {"run", alert.run},
      {"time", utc_text(alert.wall_seconds)},
      {"verdict", to_json(verdict)},
      {"event",
       rule_event(alert.run, verdict, "InProgress", alert.wall_seconds)}};
  return json.dump(JsonStyle::spaced);
}

}  // namespace smdebug
