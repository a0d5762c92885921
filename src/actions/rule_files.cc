#include "actions/rule_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "smdebug/actions/action.h"
#include "smdebug/base/clock.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
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

// Cuts text to at most `limit` bytes, between two characters of UTF-8.
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

std::string watcher_key(const std::string& key) {
  return "rules/" + key + "/watcher.json";
}

Result<std::optional<ProcessMark>> RuleFiles::claim(
    const std::string& key) const {
  const std::string mark =
      ProcessMark::of_this_process().json().dump(JsonStyle::spaced);
  SMD_TRY(const bool is_first,
          storage_->create_exclusive(
              watcher_key(key),
              std::as_bytes(std::span(mark.data(), mark.size()))));
  if (is_first) return std::optional<ProcessMark>();
  if (const auto bytes =
          get_object(*storage_, watcher_key(key), kMaxMarkBytes)) {
    const auto json = Json::parse(bytes->text());
    auto owner = json ? ProcessMark::parse(&*json) : std::nullopt;
    if (owner && !owner->has_ended()) return owner;
  }
  SMD_CHECK_OK(put_object(*storage_, watcher_key(key), mark));
  return std::optional<ProcessMark>();
}

Status RuleFiles::release(const std::string& key) const {
  return storage_->remove(watcher_key(key));
}

Status RuleFiles::write_status(const std::string& key, const Verdict& verdict,
                               const WatchProgress& progress,
                               std::span<const ActionResult> actions) const {
  const double now = clock_.wall_seconds();
  const std::uint64_t skipped =
      progress.steps_fed - std::min(progress.steps_fed, verdict.steps_judged);
  const Json json = Json::Object{
      {"version", 1},
      {"rule", verdict.rule},
      {"status", rule_status_name(verdict.status)},
      {"status_details", status_details(verdict)},
      {"last_modified", utc_text(now)},
      {"attempt", attempt_},
      {"steps", Json::Object{{"judged", verdict.steps_judged},
                             {"skipped", skipped},
                             {"last", progress.last_fed}}},
      {"lag_steps", std::max<Step>(0, progress.last_known - progress.last_fed)},
      {"lag_seconds", progress.lag_seconds},
      {"training", progress.training_status},
      {"watcher", ProcessMark::of_this_process().json()},
      {"verdict", to_json(verdict)},
      {"actions", to_json(actions)}};
  return put_object(*storage_, "rules/" + key + ".json",
                    json.dump(JsonStyle::indented) + "\n");
}

Status RuleFiles::write_event(const std::string& key, const Verdict& verdict,
                              const WatchProgress& progress) const {
  const double now = clock_.wall_seconds();
  // Names sort by time, so a reader can list only those after the last one that
  // it knows.
  const std::string name = fmt::format(
      "rules/events/{:015}_{}_{}.json",
      static_cast<std::int64_t>(std::max(0.0, std::floor(now * 1000))), key,
      rule_status_name(verdict.status));
  return put_object(
      *storage_, name,
      rule_event(storage_->uri(), verdict, progress.training_status, now)
          .dump(JsonStyle::spaced));
}

Status RuleFiles::write_fired(const std::string& key,
                              const Verdict& verdict) const {
  const Json mark = Json::Object{
      {"version", 1}, {"rule", verdict.rule}, {"step", verdict.step.global}};
  return put_object(
      *storage_,
      fmt::format("rules/fired/{:012}_{}.json", verdict.step.global, key),
      mark.dump(JsonStyle::spaced));
}

}  // namespace smdebug
