#include "actions/rule_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "actions/rule_event.h"
#include "base/utc_time.h"
#include "rules/engine/verdict_json.h"

namespace smdebug {

std::string watcher_key(const std::string& key) {
  return "rules/" + key + "/watcher.json";
}

Result<std::optional<ProcessMark>> RuleFiles::claim(
    const std::string& key) const {
  const std::string ours =
      ProcessMark::of_this_process().json().dump(JsonStyle::spaced);
  SMD_TRY(const bool is_first,
          storage_->create_exclusive(
              watcher_key(key),
              std::as_bytes(std::span(ours.data(), ours.size()))));
  if (is_first) return std::optional<ProcessMark>();
  if (const auto bytes = get_object(*storage_, watcher_key(key))) {
    const auto json = Json::parse(bytes->text());
    auto owner = json ? ProcessMark::parse(&*json) : std::nullopt;
    if (owner && !owner->is_gone()) return owner;
  }
  SMD_CHECK_OK(put_object(*storage_, watcher_key(key), ours));
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
  // Names sort by time: whoever lists after the last one it knows sees the new.
  const std::string name = fmt::format(
      "rules/events/{:015}_{}_{}.json",
      static_cast<std::int64_t>(std::max(0.0, std::floor(now * 1000))), key,
      rule_status_name(verdict.status));
  return put_object(
      *storage_, name,
      rule_event(storage_->uri(), verdict, progress.training_status, now)
          .dump(JsonStyle::spaced));
}

}  // namespace smdebug
