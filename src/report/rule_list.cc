#include "smdebug/report/rule_list.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/strings.h"
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

// The lines of a cell: a long list has one for each of its parts.
std::vector<std::string> cell_lines(const ParameterSpec& spec,
                                    std::string_view text) {
  constexpr std::size_t kLongestCell = 30;
  if (spec.type != ParameterType::text_list || text.size() <= kLongestCell)
    return {text_or_dash(text)};
  std::vector<std::string> lines = split_list(text);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) lines[i] += ',';
  return lines;
}

void add_parameter(const ParameterSpec& spec, TextTable& table) {
  const auto defaults = cell_lines(spec, spec.default_text);
  const auto tuned = cell_lines(spec, spec.preset_text("tuned"));
  const std::size_t height = std::max(defaults.size(), tuned.size());
  for (std::size_t i = 0; i < height; ++i) {
    const bool is_first = i == 0;
    table.add({is_first ? std::string(spec.name) : "",
               is_first ? std::string(type_name(spec.type)) : "",
               i < defaults.size() ? defaults[i] : "",
               i < tuned.size() ? tuned[i] : "",
               is_first ? std::string(spec.description) : ""});
  }
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
  for (const ParameterSpec& spec : rule.parameters) add_parameter(spec, table);
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
