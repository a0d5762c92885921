#include <string_view>

#include "smdebug/actions/perform_once.h"
#include "smdebug/actions/rule_watch.h"
#include "smdebug/base/try.h"

#include "base/json.h"

namespace smdebug {
namespace {

constexpr std::string_view kFolder = "rules/";
constexpr std::string_view kEnding = ".json";

// Longer ones are damage. A verdict has a few sentences of evidence.
constexpr std::uint64_t kMaxStatusBytes = 4 << 20;

// Returns "AllZero" for "rules/AllZero.json"; empty for other files, including
// those in subfolders.
std::string status_key(std::string_view object) {
  if (!object.starts_with(kFolder) || !object.ends_with(kEnding)) return "";
  object.remove_prefix(kFolder.size());
  object.remove_suffix(kEnding.size());
  return object.find('/') == object.npos ? std::string(object) : "";
}

// Returns 0 if there is no such count.
std::uint64_t count_in(const Json& json, std::string_view key) {
  const auto count = json.int_at(key);
  return count && *count > 0 ? static_cast<std::uint64_t>(*count) : 0;
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
  status.attempt = count_in(json, "attempt");
  if (const Json* steps = json.find("steps")) {
    SMD_TRY(status.last_step, steps->int_at("last"));
    status.steps_judged = count_in(*steps, "judged");
  }
  if (const Json* verdict = json.find("verdict")) {
    SMD_TRY(status.message, verdict->string_at("message"));
    if (const auto severity = verdict->string_at("severity"))
      status.severity = find_severity(*severity);
    status.observations_found = count_in(*verdict, "observations_found");
  }
  return status;
}

// Whether the status file with this key is of this rule. "AllZero", "AllZero_2"
// and "AllZero_worker_1" are of "AllZero".
bool is_key_of(std::string_view key, const std::string& rule) {
  const std::string first = rule_key(rule, 0);
  return key == first || key.starts_with(first + "_");
}

Result<RecordedStatus> read_status(const Storage& storage,
                                   const ObjectEntry& object,
                                   const std::string& key) {
  if (!object.is_file) {
    return Error{Error::Code::io, "a link or something else that is not read"};
  }
  SMD_TRY(const Bytes bytes, get_object(storage, object.key, kMaxStatusBytes));
  SMD_TRY(RecordedStatus status, parse(key, bytes.text()));
  if (is_key_of(key, status.rule)) return status;
  return Error{Error::Code::corrupt, "it is the status of the rule '" +
                                         status.rule +
                                         "': it was renamed or exchanged"};
}

}  // namespace

Result<std::vector<RecordedStatus>> read_recorded_statuses(
    const Storage& storage, std::vector<SkippedStatus>* skipped) {
  const auto skip = [&](const std::string& key, const Error& error) {
    if (skipped != nullptr) skipped->push_back({key, error.message});
  };
  std::vector<RecordedStatus> statuses;
  const auto objects = storage.list(kFolder);
  if (!objects) {
    const Status as_folder = storage.check_folder(kFolder);
    if (as_folder) return objects.error();
    skip("rules", as_folder.error());
    return statuses;
  }
  for (const ObjectEntry& object : *objects) {
    const std::string key = status_key(object.key);
    if (key.empty()) continue;
    auto status = read_status(storage, object, key);
    if (status) {
      statuses.push_back(*std::move(status));
    } else if (status.error().code != Error::Code::not_found) {
      skip(object.key, status.error());
    }
  }
  return statuses;
}

}  // namespace smdebug
