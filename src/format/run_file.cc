#include "format/run_file.h"

#include "base/json.h"

namespace smdebug {
namespace {

template <typename T>
Json to_json(const std::map<std::string, T>& map) {
  Json::Object object;
  for (const auto& [key, value] : map) object.push_back({key, value});
  return object;
}

Json to_json(const RunAttempt& attempt) {
  Json::Array command;
  for (const std::string& word : attempt.command) command.emplace_back(word);
  return Json::Object{{"host", attempt.host},
                      {"pid", attempt.process_id},
                      {"started", attempt.started_seconds},
                      {"ended", Json(attempt.ended_seconds)},
                      {"command", std::move(command)},
                      {"versions", to_json(attempt.versions)},
                      {"environment", to_json(attempt.environment)},
                      {"first_step", Json(attempt.first_step)},
                      {"status", attempt.status},
                      {"raised", attempt.raised},
                      {"cost", to_json(attempt.cost)}};
}

std::string text_or_empty(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

std::optional<double> find_number(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  if (value == nullptr) return std::nullopt;
  return value->as_double();
}

std::optional<std::int64_t> find_integer(const Json& json,
                                         std::string_view key) {
  const Json* value = json.find(key);
  if (value == nullptr) return std::nullopt;
  return value->as_int();
}

// Leaves out members of another type.
std::map<std::string, std::string> parse_texts(const Json& json,
                                               std::string_view key) {
  std::map<std::string, std::string> map;
  const Json* value = json.find(key);
  if (value == nullptr || value->as_object() == nullptr) return map;
  for (const auto& [name, text] : *value->as_object()) {
    if (text.as_string() != nullptr) map[name] = *text.as_string();
  }
  return map;
}

std::map<std::string, double> parse_numbers(const Json& json,
                                            std::string_view key) {
  std::map<std::string, double> map;
  const Json* value = json.find(key);
  if (value == nullptr || value->as_object() == nullptr) return map;
  for (const auto& [name, number] : *value->as_object()) {
    if (number.as_double()) map[name] = *number.as_double();
  }
  return map;
}

// Leaves out members of another type.
std::vector<std::string> parse_list(const Json& json, std::string_view key) {
  std::vector<std::string> list;
  const Json* value = json.find(key);
  if (value == nullptr || value->as_array() == nullptr) return list;
  for (const Json& text : *value->as_array()) {
    if (text.as_string() != nullptr) list.push_back(*text.as_string());
  }
  return list;
}

RunAttempt parse_attempt(const Json& json) {
  RunAttempt attempt;
  attempt.host = text_or_empty(json, "host");
  attempt.process_id = find_integer(json, "pid").value_or(0);
  attempt.started_seconds = find_number(json, "started").value_or(0);
  attempt.ended_seconds = find_number(json, "ended");
  attempt.command = parse_list(json, "command");
  attempt.versions = parse_texts(json, "versions");
  attempt.environment = parse_texts(json, "environment");
  attempt.first_step = find_integer(json, "first_step");
  attempt.status = text_or_empty(json, "status");
  attempt.raised = text_or_empty(json, "raised");
  attempt.cost = parse_numbers(json, "cost");
  return attempt;
}

}  // namespace

std::string write_run_file(const RunFile& run) {
  const auto configuration = Json::parse(run.configuration_json);
  Json json;
  json["version"] = run.version;
  json["smdebug_version"] = run.smdebug_version;
  json["framework"] = run.framework;
  json["configuration"] = configuration ? *configuration : Json();
  json["saved_collections"] = Json::Array();
  for (const std::string& name : run.saved_collections) {
    json["saved_collections"].append(name);
  }
  json["attempts"] = Json::Array();
  for (const RunAttempt& attempt : run.attempts) {
    json["attempts"].append(to_json(attempt));
  }
  return json.dump(JsonStyle::indented) + "\n";
}

Result<RunFile> parse_run_file(std::string_view text) {
  auto json = Json::parse(text);
  if (!json) return std::move(json).error();
  const auto version = json->int_at("version");
  if (!version) return version.error();
  auto attempts = json->array_at("attempts");
  if (!attempts) return std::move(attempts).error();

  RunFile run;
  run.version = static_cast<int>(*version);
  run.smdebug_version = text_or_empty(*json, "smdebug_version");
  run.framework = text_or_empty(*json, "framework");
  if (const Json* configuration = json->find("configuration")) {
    run.configuration_json = configuration->dump();
  }
  run.saved_collections = parse_list(*json, "saved_collections");
  for (const Json& attempt : **attempts) {
    run.attempts.push_back(parse_attempt(attempt));
  }
  return run;
}

std::string write_claim(const ProcessMark& owner) {
  return owner.json().dump(JsonStyle::spaced);
}

std::optional<ProcessMark> parse_claim(std::string_view text) {
  const auto json = Json::parse(text);
  return json ? ProcessMark::parse(&*json) : std::nullopt;
}

}  // namespace smdebug
