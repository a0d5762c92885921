#include "smdebug/rules/parameters.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "base/suggestions.h"
#include "rules/engine/shared_parameters.h"

namespace smdebug {
namespace {

// "a number from 0 to 1", "one of 'any', 'all'".
std::string accepted_text(const ParameterSpec& spec) {
  std::string text;
  switch (spec.type) {
    case ParameterType::boolean:
      return "true or false";
    case ParameterType::integer:
      text = "an integer";
      break;
    case ParameterType::real:
      text = "a number";
      break;
    case ParameterType::text:
    case ParameterType::text_list:
      if (spec.choices.empty()) return "a text";
      return fmt::format("one of '{}'", fmt::join(spec.choices, "', '"));
  }
  if (spec.minimum) text += fmt::format(" from {}", *spec.minimum);
  if (spec.maximum) text += fmt::format(" to {}", *spec.maximum);
  return text;
}

Error refusal(std::string_view rule, const ParameterSpec& spec,
              std::string_view found) {
  return {Error::Code::invalid_config,
          fmt::format("rule {}: parameter '{}' should be {} but is '{}'", rule,
                      spec.name, accepted_text(spec), found)};
}

bool in_range(const ParameterSpec& spec, double number) {
  return std::isfinite(number) && (!spec.minimum || number >= *spec.minimum) &&
         (!spec.maximum || number <= *spec.maximum);
}

bool is_choice(const ParameterSpec& spec, std::string_view word) {
  return spec.choices.empty() ||
         std::ranges::find(spec.choices, word) != spec.choices.end();
}

// A choice is found whatever its case; a user reads "EVAL" in one document and
// "eval" in another.
std::string as_choice(const ParameterSpec& spec, std::string_view word) {
  for (std::string_view choice : spec.choices) {
    if (lower_case(choice) == lower_case(word)) return std::string(choice);
  }
  return std::string(word);
}

Error unknown_parameter(std::string_view rule, std::string_view name,
                        std::span<const ParameterSpec> table) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : table) names.emplace_back(spec.name);
  return {Error::Code::invalid_config,
          fmt::format("rule {} has no parameter '{}'{}; 'smdebug rules {}' "
                      "lists all parameters",
                      rule, name, similar_text(name, names), rule)};
}

// An empty text would set nothing, not even the default: a threshold without a
// value would count as 0.
Status check_has_value(std::string_view rule, const ParameterSpec& spec,
                       const std::map<std::string, std::string>& given) {
  const bool may_be_empty =
      spec.type == ParameterType::text || spec.type == ParameterType::text_list;
  const auto found = given.find(std::string(spec.name));
  if (may_be_empty || found == given.end() || !trimmed(found->second).empty())
    return {};
  return refusal(rule, spec, found->second);
}

// The text of a parameter: the given one, else `fallback`.
std::string_view text_of(const std::map<std::string, std::string>& given,
                         std::string_view name, std::string_view fallback) {
  const auto found = given.find(std::string(name));
  return trimmed(found == given.end() ? fallback : found->second);
}

}  // namespace

std::string_view ParameterSpec::preset_text(std::string_view preset) const {
  const bool is_tuned = preset == kTunedPreset && !tuned_text.empty();
  return is_tuned ? tuned_text : default_text;
}

Result<Parameters> Parameters::parse(
    std::string_view rule, std::span<const ParameterSpec> table,
    const std::map<std::string, std::string>& given) {
  for (const auto& [name, text] : given) {
    const bool known = std::ranges::any_of(
        table, [&](const ParameterSpec& spec) { return spec.name == name; });
    if (!known) return unknown_parameter(rule, name, table);
  }
  const std::string preset = lower_case(text_of(given, kPreset.name, ""));
  Parameters parameters;
  parameters.rule_ = rule;
  for (const auto& [name, text] : given) parameters.given_.insert(name);
  for (const ParameterSpec& spec : table) {
    SMD_CHECK_OK(check_has_value(rule, spec, given));
    const std::string_view text =
        text_of(given, spec.name, spec.preset_text(preset));
    // "None" is how the original's documents write that nothing is set.
    if (text.empty() || text == "None") continue;
    SMD_TRY(parameters.values_[std::string(spec.name)],
            parse_value(rule, spec, text));
  }
  return parameters;
}

Result<Parameters::Value> Parameters::parse_value(std::string_view rule,
                                                  const ParameterSpec& spec,
                                                  std::string_view text) {
  std::optional<Value> value;
  switch (spec.type) {
    case ParameterType::boolean:
      if (const auto boolean = find_boolean(text)) value.emplace(*boolean);
      break;
    case ParameterType::integer: {
      const auto number = find_number<std::int64_t>(text);
      if (number && in_range(spec, static_cast<double>(*number))) {
        value.emplace(*number);
      }
      break;
    }
    case ParameterType::real: {
      const auto number = find_number<double>(text);
      if (number && in_range(spec, *number)) value.emplace(*number);
      break;
    }
    case ParameterType::text: {
      std::string word = as_choice(spec, text);
      if (is_choice(spec, word)) value.emplace(std::move(word));
      break;
    }
    case ParameterType::text_list: {
      std::vector<std::string> words = split_list(text);
      for (std::string& word : words) word = as_choice(spec, word);
      const auto accepted = [&](const std::string& word) {
        return is_choice(spec, word);
      };
      if (std::ranges::all_of(words, accepted)) value.emplace(std::move(words));
      break;
    }
  }
  if (!value) return refusal(rule, spec, text);
  return *std::move(value);
}

bool Parameters::is_given(std::string_view name) const {
  return given_.contains(name);
}

bool Parameters::has(std::string_view name) const {
  return values_.contains(name);
}

bool Parameters::boolean(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && std::get<bool>(found->second);
}

std::int64_t Parameters::integer(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? 0 : std::get<std::int64_t>(found->second);
}

double Parameters::real(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? 0 : std::get<double>(found->second);
}

const std::string& Parameters::text(std::string_view name) const {
  static const std::string kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : std::get<std::string>(found->second);
}

const std::vector<std::string>& Parameters::text_list(
    std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end()
             ? kNone
             : std::get<std::vector<std::string>>(found->second);
}

}  // namespace smdebug
