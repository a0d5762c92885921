#include "smdebug/report/rule_list.h"

#include <fmt/format.h>

#include "base/json.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

std::string_view type_name(ParameterType type) {
  switch (type) {
    case ParameterType::boolean:
      return "boolean";
    case ParameterType::integer:
      return "integer";
    case ParameterType::real:
      return "number";
    case ParameterType::text:
      return "text";
    case ParameterType::text_list:
      return "list";
  }
  return "text";
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

std::string text_or_dash(std::string_view text) {
  return text.empty() ? "-" : std::string(text);
}

Json to_json(const ParameterSpec& spec) {
  Json json;
  json["name"] = spec.name;
  json["type"] = type_name(spec.type);
  json["default"] = text_or_null(spec.default_text);
  json["tuned"] = text_or_null(spec.preset_text("tuned"));
  json["minimum"] = Json(spec.minimum);
  json["maximum"] = Json(spec.maximum);
  json["choices"] = Json::Array();
  for (const std::string_view choice : spec.choices) {
    json["choices"].append(choice);
  }
  json["description"] = spec.description;
  return json;
}

Json to_json(const Advice& advice) {
  return Json::Object{{"when", text_or_null(advice.when)},
                      {"cause", advice.cause},
                      {"advice", advice.advice},
                      {"severity", severity_name(advice.severity)}};
}

}  // namespace

std::string rules_text(std::span<const RuleFactory> rules) {
  TextTable table({"", ""});
  for (const RuleFactory& rule : rules) {
    table.add({std::string(rule.name), std::string(rule.summary)});
  }
  return table.text();
}

std::string rule_text(const RuleFactory& rule) {
  TextTable table({"parameter", "type", "default", "tuned", ""});
  for (const ParameterSpec& spec : rule.parameters) {
    table.add({std::string(spec.name), std::string(type_name(spec.type)),
               text_or_dash(spec.default_text),
               text_or_dash(spec.preset_text("tuned")),
               std::string(spec.description)});
  }
  std::string advice;
  for (const Advice& one : rule.advice) {
    if (!one.when.empty()) advice += fmt::format("{}\n", one.when);
    advice +=
        fmt::format("usual cause: {}\nadvice: {}\n", one.cause, one.advice);
  }
  return fmt::format("{}\n{}\n{}\n\n{}\n{}", rule.name, rule.summary,
                     rule.condition, table.text("  "), advice);
}

std::string rules_json(std::span<const RuleFactory> rules) {
  Json json = Json::Array();
  for (const RuleFactory& rule : rules) {
    Json one;
    one["name"] = rule.name;
    one["summary"] = rule.summary;
    one["condition"] = rule.condition;
    one["parameters"] = Json::Array();
    for (const ParameterSpec& spec : rule.parameters) {
      one["parameters"].append(to_json(spec));
    }
    one["advice"] = Json::Array();
    for (const Advice& advice : rule.advice) {
      one["advice"].append(to_json(advice));
    }
    json.append(std::move(one));
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
