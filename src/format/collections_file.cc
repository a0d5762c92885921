#include "format/collections_file.h"

#include <algorithm>

#include "smdebug/base/try.h"

#include "base/json.h"

namespace smdebug {
namespace {

Json to_json(const std::vector<std::string>& texts) {
  Json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

Json to_json(const StoredReductions& reductions) {
  return Json::Object{{"save_raw_tensor", reductions.save_raw_tensor},
                      {"reductions", reductions.ops_text},
                      {"save_shape", reductions.save_shape}};
}

Json to_json(const ModeSchedule& schedule) {
  Json::Array save_steps;
  for (const Step step : schedule.save_steps) save_steps.emplace_back(step);
  return Json::Object{{"save_interval", schedule.save_interval},
                      {"save_steps", std::move(save_steps)},
                      {"start_step", schedule.start_step},
                      {"end_step", Json(schedule.end_step)}};
}

Json to_json(const std::array<std::optional<ModeSchedule>, 4>& schedules) {
  Json json;
  for (const Mode mode : kModes) {
    const auto& schedule = schedules[mode_index(mode)];
    json[mode_name(mode)] = schedule ? to_json(*schedule) : Json();
  }
  return json;
}

Json to_json(const StoredCollection& collection) {
  Json json;
  json["name"] = collection.tensors.name;
  json["include_regex"] = to_json(collection.tensors.include_regex);
  json["tensor_names"] = to_json(collection.tensors.tensor_names);
  json["reduction_config"] =
      collection.reductions ? to_json(*collection.reductions) : Json();
  json["save_config"] =
      collection.schedule ? to_json(*collection.schedule) : Json();
  json["save_histogram"] = collection.save_histogram;
  return json;
}

// Returns the member `key`, or null if it is missing or empty: null, or the
// `false` that the original writes for a missing list.
const Json* find_value(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  if (value == nullptr || value->is_null()) return nullptr;
  return value->as_bool() == false ? nullptr : value;
}

Result<std::vector<std::string>> parse_texts(const Json& json,
                                             std::string_view key) {
  std::vector<std::string> texts;
  if (find_value(json, key) == nullptr) return texts;
  SMD_TRY(const Json::Array* array, json.array_at(key));
  for (const Json& element : *array) {
    const std::string* text = element.as_string();
    if (text == nullptr) {
      return Error{Error::Code::corrupt,
                   "'" + std::string(key) +
                       "' should contain strings but contains " +
                       std::string(element.type_name())};
    }
    texts.push_back(*text);
  }
  return texts;
}

Result<StoredReductions> parse_reductions(const Json& json) {
  StoredReductions reductions;
  if (find_value(json, "save_raw_tensor") != nullptr) {
    SMD_TRY(reductions.save_raw_tensor, json.bool_at("save_raw_tensor"));
  }
  if (find_value(json, "reductions") != nullptr) {
    SMD_TRY(reductions.ops_text, json.string_at("reductions"));
  }
  if (find_value(json, "save_shape") != nullptr) {
    SMD_TRY(reductions.save_shape, json.bool_at("save_shape"));
  }
  return reductions;
}

Result<ModeSchedule> parse_schedule(const Json& json) {
  ModeSchedule schedule;
  if (find_value(json, "save_interval") != nullptr) {
    SMD_TRY(schedule.save_interval, json.int_at("save_interval"));
  }
  if (find_value(json, "start_step") != nullptr) {
    SMD_TRY(schedule.start_step, json.int_at("start_step"));
  }
  if (find_value(json, "end_step") != nullptr) {
    SMD_TRY(schedule.end_step, json.int_at("end_step"));
  }
  if (find_value(json, "save_steps") != nullptr) {
    SMD_TRY(const Json::Array* steps, json.array_at("save_steps"));
    for (const Json& element : *steps) {
      const auto step = element.as_int();
      if (!step) {
        return Error{Error::Code::corrupt,
                     "'save_steps' should contain numbers but contains " +
                         std::string(element.type_name())};
      }
      schedule.save_steps.push_back(*step);
    }
  }
  return schedule;
}

Result<StoredCollection> parse_collection(std::string_view name,
                                          const Json& json) {
  StoredCollection collection;
  collection.tensors.name = name;
  SMD_TRY(collection.tensors.include_regex, parse_texts(json, "include_regex"));
  SMD_TRY(collection.tensors.tensor_names, parse_texts(json, "tensor_names"));
  std::sort(collection.tensors.tensor_names.begin(),
            collection.tensors.tensor_names.end());
  if (const Json* reductions = find_value(json, "reduction_config")) {
    SMD_TRY(collection.reductions, parse_reductions(*reductions));
  }
  if (const Json* schedules = find_value(json, "save_config")) {
    collection.schedule.emplace();
    for (const Mode mode : kModes) {
      const Json* schedule = find_value(*schedules, mode_name(mode));
      if (schedule == nullptr) continue;
      SMD_TRY((*collection.schedule)[mode_index(mode)],
              parse_schedule(*schedule));
    }
  }
  if (json.find("save_histogram") != nullptr) {
    SMD_TRY(collection.save_histogram, json.bool_at("save_histogram"));
  }
  return collection;
}

}  // namespace

std::string write_collections_file(const CollectionsFile& file) {
  Json json;
  json["collections"] = Json::Object();
  for (const StoredCollection& collection : file.collections) {
    json["collections"][collection.tensors.name] = to_json(collection);
  }
  json["_meta"]["num_workers"] = file.num_workers;
  return json.dump(JsonStyle::spaced);
}

Result<CollectionsFile> parse_collections_file(std::string_view text) {
  auto json = Json::parse(text);
  if (!json) return std::move(json).error().within("collections file");
  auto members = json->object_at("collections");
  if (!members) return std::move(members).error().within("collections file");

  CollectionsFile file;
  for (const auto& [name, value] : **members) {
    auto collection = parse_collection(name, value);
    if (!collection) {
      return std::move(collection)
          .error()
          .within("collections file: collection '" + name + "'");
    }
    file.collections.push_back(*std::move(collection));
  }
  if (const Json* meta = json->find("_meta")) {
    const Json* workers = meta->find("num_workers");
    const auto number = workers == nullptr ? 1 : workers->as_int();
    constexpr std::int64_t kMaxWorkers = 1 << 24;
    if (!number || *number < 1 || *number > kMaxWorkers) {
      return Error{Error::Code::corrupt,
                   "collections file: 'num_workers' should be a number from 1"};
    }
    file.num_workers = static_cast<int>(*number);
  }
  return file;
}

}  // namespace smdebug
