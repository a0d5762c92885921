#include "smdebug/actions/perform_once.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "smdebug/base/clock.h"
#include "smdebug/base/try.h"

#include "actions/rule_files.h"
#include "base/crc32c.h"
#include "base/environment.h"
#include "base/json.h"
#include "rules/engine/verdict_json.h"

namespace smdebug {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The record of one action of one rule in one attempt. The name contains a
// checksum of the target, which may have any character and may be secret.
std::string record_key(const ActionRequest& request, const RecordPlace& place) {
  return fmt::format("rules/{}/attempt-{}_{}_{:08x}.json", place.rule,
                     place.attempt, action_kind_name(request.kind),
                     crc32c(bytes_of(request.target)));
}

std::string record_text(const ActionResult& result, const Clock& clock) {
  Json json = to_json(result);
  json["time"] = utc_text(clock.wall_seconds());
  json["by"] = ProcessMark::of_this_process().json();
  return json.dump(JsonStyle::spaced);
}

// Returns a sentence that explains why an older record forbids the action.
// Empty if it does not: the action failed, or the record cannot be read.
std::string objection(const Storage& storage, const std::string& key) {
  const auto bytes = get_object(storage, key, kMaxMarkBytes);
  const auto json = bytes ? Json::parse(bytes->text()) : Result<Json>(Json());
  if (!json || !json->as_object()) return "";
  const std::string status = json->string_at("status").ok()
                                 ? *json->string_at("status")
                                 : std::string();
  if (status == action_status_name(ActionStatus::failed)) return "";
  const auto owner = ProcessMark::parse(json->find("by"));
  const auto time = json->string_at("time");
  const std::string who = owner ? owner->text() : "another process";
  const std::string when = time ? " at " + *time : "";
  const std::string advice = "; remove '" + key + "' to repeat it";
  if (status == action_status_name(ActionStatus::done)) {
    return who + " performed it" + when + advice;
  }
  if (owner && owner->has_ended()) {
    return who + " began it" + when +
           " and exited, so it may have been performed" + advice;
  }
  return who + " is performing it";
}

// Starts the record. Returns a sentence if the action must not be performed.
Result<std::string> begin(const ActionResult& result, const RecordPlace& place,
                          const std::string& key, const Clock& clock) {
  const std::string text = record_text(result, clock);
  SMD_TRY(const bool is_first,
          place.storage->create_exclusive(key, bytes_of(text)));
  if (is_first) return std::string();
  const std::string forbidden = objection(*place.storage, key);
  if (!forbidden.empty()) return forbidden;
  SMD_CHECK_OK(put_object(*place.storage, key, text));
  return std::string();
}

}  // namespace

std::string rule_key(const std::string& rule, std::size_t earlier_of_the_name) {
  std::string key = rule;
  std::ranges::replace_if(
      key,
      [](char c) {
        const bool is_plain = (c >= 'A' && c <= 'Z') ||
                              (c >= 'a' && c <= 'z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_';
        return !is_plain;
      },
      '_');
  if (earlier_of_the_name > 0) {
    key += "_" + std::to_string(earlier_of_the_name + 1);
  }
  return key;
}

ActionResult perform_once(Action& action, const Alert& alert,
                          const RecordPlace& place) {
  const Clock& clock = place.clock ? *place.clock : system_clock();
  const ActionRequest& request = action.request();
  ActionResult result;
  result.rule = alert.verdict.rule;
  result.action = action_kind_name(request.kind);
  result.target = shown_target(request);

  const std::string key = record_key(request, place);
  std::string unrecorded;
  if (place.storage) {
    const auto forbidden = begin(result, place, key, clock);
    if (forbidden && !forbidden->empty()) {
      result.status = ActionStatus::not_repeated;
      result.message = *forbidden;
      return result;
    }
    if (!forbidden) unrecorded = forbidden.error().message;
  }

  auto done = action.perform(alert);
  result.status = done ? ActionStatus::done : ActionStatus::failed;
  result.message = done ? *std::move(done) : done.error().message;
  if (place.storage && unrecorded.empty()) {
    const Status kept =
        put_object(*place.storage, key, record_text(result, clock));
    if (!kept) unrecorded = kept.error().message;
  }
  if (!unrecorded.empty()) {
    result.message +=
        " (cannot be recorded, so it may be repeated: " + unrecorded + ")";
  }
  return result;
}

}  // namespace smdebug
