#include <string_view>

#include "smdebug/actions/rule_watch.h"

#include "base/json.h"

namespace smdebug {
namespace {

constexpr std::string_view kFolder = "rules/";
constexpr std::string_view kEnding = ".json";

// Returns "AllZero" for "rules/AllZero.json"; empty for other files, including
// those in subfolders.
std::string status_key(std::string_view object) {
  if (!object.starts_with(kFolder) || !object.ends_with(kEnding)) return "";
  object.remove_prefix(kFolder.size());
  object.remove_suffix(kEnding.size());
  return object.find('/') == object.npos ? std::string(object) : "";
}

Result<RecordedStatus> parse(std::string key, std::string_view text) {
  SMD_TRY(const Json json, Json::parse(text));
  RecordedStatus status;
  status.key = std::move(key);
  SMD_TRY(status.rule, json.string_at("rule"));
  SMD_TRY(status.status, json.string_at("status"));
  SMD_TRY(status.last_modified, json.string_at("last_modified"));
  SMD_TRY(status.lag_steps, json.int_at("lag_steps"));
  if (const auto lag = json.double_at("lag_seconds")) status.lag_seconds = *lag;
  if (const Json* steps = json.find("steps")) {
    SMD_TRY(status.last_step, steps->int_at("last"));
  }
  if (const Json* verdict = json.find("verdict")) {
    SMD_TRY(status.message, verdict->string_at("message"));
  }
  return status;
}

}  // namespace

Result<std::vector<RecordedStatus>> read_recorded_statuses(
    const Storage& storage) {
  SMD_TRY(const auto objects, storage.list(kFolder));
  std::vector<RecordedStatus> statuses;
  for (const ObjectEntry& object : objects) {
    std::string key = status_key(object.key);
    if (key.empty() || !object.is_file) continue;
    const auto bytes = get_object(storage, object.key);
    if (!bytes) continue;
    auto status = parse(std::move(key), bytes->text());
    if (status) statuses.push_back(*std::move(status));
  }
  return statuses;
}

}  // namespace smdebug
