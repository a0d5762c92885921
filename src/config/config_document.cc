#include "config/config_document.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/suggestions.h"

namespace smdebug {
namespace {

constexpr std::string_view kNumber = "a number or numeric text";

// A value as JSON, shortened to fit into a message. It is pure ASCII, so that
// any byte is a character boundary.
std::string shown(const Json& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = value.dump(JsonStyle::spaced);
  if (text.size() > kMaxShown)
    text.replace(kMaxShown, std::string::npos, "...");
  return text;
}

// A number as an integer, and whether decimals other than 0 were cut off.
struct WholeNumber {
  Step value = 0;
  bool is_cut = false;
};

std::optional<WholeNumber> whole(double number) {
  const double cut = std::trunc(number);
  const auto value = Json(cut).as_int();
  if (!value) return {};
  return WholeNumber{*value, cut != number};
}

std::optional<WholeNumber> number_in(std::string_view text) {
  text = trimmed(text);
  if (const auto number = find_number<Step>(text)) return WholeNumber{*number};
  const auto number = find_number<double>(text);
  return number ? whole(*number) : std::nullopt;
}

std::optional<WholeNumber> number_of(const Json& value) {
  if (const std::string* text = value.as_string()) return number_in(*text);
  if (value.is_integer()) {
    const auto number = value.as_int();
    return number ? std::optional(WholeNumber{*number}) : std::nullopt;
  }
  const auto number = value.as_double();
  return number ? whole(*number) : std::nullopt;
}

std::optional<std::vector<WholeNumber>> numbers_of(const Json& value) {
  std::vector<WholeNumber> numbers;
  const auto add = [&](std::optional<WholeNumber> number) {
    if (number) numbers.push_back(*number);
    return number.has_value();
  };
  if (const std::string* text = value.as_string()) {
    for (const std::string& part : split_list(*text)) {
      if (!add(number_in(part))) return {};
    }
  } else if (const Json::Array* array = value.as_array()) {
    for (const Json& element : *array) {
      if (!add(number_of(element))) return {};
    }
  } else if (!add(number_of(value))) {
    return {};
  }
  return numbers;
}

}  // namespace

Result<Json> parse_config_json(std::string_view text, std::string_view file) {
  auto json = Json::parse(text, file);
  if (!json) {
    return Error{Error::Code::invalid_config, json.error().message};
  }
  if (json->as_object() == nullptr) {
    return Error{
        Error::Code::invalid_config,
        ConfigDocument(text, file)
            .locate(*json, "",
                    fmt::format("expected an object, found {}", shown(*json)))};
  }
  return json;
}

void ConfigDocument::warn_of_repeated_keys(const Json& value,
                                           const std::string& path) {
  if (const Json::Array* array = value.as_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      warn_of_repeated_keys((*array)[i], fmt::format("{}[{}]", path, i));
    }
  }
  const Json::Object* members = value.as_object();
  if (members == nullptr) return;
  std::set<std::string_view> seen;
  for (const auto& [key, member] : *members) {
    const std::string below = path.empty() ? key : path + "." + key;
    if (!seen.insert(key).second) {
      warn(member, below, "given twice; the last one counts");
    }
    warn_of_repeated_keys(member, below);
  }
}

std::string ConfigDocument::locate(const Json& value, std::string_view path,
                                   std::string_view what) const {
  return locate(value.offset(), path, what);
}

std::size_t ConfigDocument::offset_of_key(const Json& value) const {
  const auto colon = text_.substr(0, value.offset()).rfind(':');
  if (colon == text_.npos) return value.offset();
  const std::size_t end = text_.substr(0, colon).rfind('"');
  // A quotation mark inside the key follows an odd number of backslashes.
  for (std::size_t at = end; at != text_.npos && at > 0;) {
    at = text_.rfind('"', at - 1);
    if (at == text_.npos) break;
    std::size_t slashes = 0;
    while (slashes < at && text_[at - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return at;
  }
  return value.offset();
}

std::string ConfigDocument::locate(std::size_t offset, std::string_view path,
                                   std::string_view what) const {
  const TextPosition at = positions_.at(offset);
  return fmt::format("{}:{}:{}: {}{}{}", file_, at.line, at.column, path,
                     path.empty() ? "" : ": ", what);
}

const Json* ConfigObject::find(std::string_view key) const {
  const Json* value = json_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Json& ConfigObject::at(std::string_view key) const {
  const Json* value = json_->find(key);
  return value == nullptr ? *json_ : *value;
}

std::string ConfigObject::path_of(std::string_view key) const {
  if (path_.empty() || key.empty()) return path_ + std::string(key);
  return fmt::format("{}.{}", path_, key);
}

Error ConfigObject::mistake(std::string_view key, std::string_view what) const {
  return {Error::Code::invalid_config,
          document_->locate(at(key), path_of(key), what)};
}

Error ConfigObject::expected(std::string_view key,
                             std::string_view expected) const {
  return mistake(
      key, fmt::format("expected {}, found {}", expected, shown(at(key))));
}

void ConfigObject::warn(std::string_view key, std::string_view what) const {
  document_->warn(at(key), path_of(key), what);
}

Result<std::optional<std::string>> ConfigObject::text(
    std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  const std::string* text = value->as_string();
  if (text == nullptr) return expected(key, "text");
  return std::optional(*text);
}

Result<std::optional<bool>> ConfigObject::flag(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (const auto boolean = value->as_bool()) return boolean;
  const std::string* text = value->as_string();
  const auto word = text != nullptr ? find_boolean(*text) : std::nullopt;
  if (!word) return expected(key, "true or false");
  return word;
}

Result<std::optional<Step>> ConfigObject::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<Step>();
  const auto number = number_of(*value);
  if (!number) return expected(key, kNumber);
  if (number->is_cut) {
    warn(key, fmt::format("expected a whole number, found {}; using {}",
                          shown(*value), number->value));
  }
  return std::optional(number->value);
}

Result<std::optional<std::vector<Step>>> ConfigObject::numbers(
    std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::vector<Step>>();
  const auto numbers = numbers_of(*value);
  if (!numbers) {
    return expected(key, "numbers with commas between them, or an array");
  }
  std::vector<Step> steps;
  for (const WholeNumber& number : *numbers) steps.push_back(number.value);
  if (std::ranges::any_of(*numbers, &WholeNumber::is_cut)) {
    warn(key, fmt::format("expected whole numbers, found {}; using {}",
                          shown(*value), fmt::join(steps, ", ")));
  }
  return std::optional(std::move(steps));
}

Result<std::optional<std::vector<std::string>>> ConfigObject::texts(
    std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::vector<std::string>>();
  if (const std::string* text = value->as_string()) {
    return std::optional(split_list(*text));
  }
  const Json::Array* array = value->as_array();
  std::vector<std::string> texts;
  for (const Json& element : array != nullptr ? *array : Json::Array()) {
    const std::string* text = element.as_string();
    if (text == nullptr) {
      array = nullptr;
      break;
    }
    texts.push_back(*text);
  }
  if (array == nullptr) {
    return expected(key, "text with commas between its parts, or an array");
  }
  return std::optional(std::move(texts));
}

Result<std::optional<ConfigObject>> ConfigObject::object(
    std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<ConfigObject>();
  if (value->as_object() == nullptr) return expected(key, "an object");
  return std::optional(ConfigObject(*document_, *value, path_of(key)));
}

Result<std::vector<ConfigObject>> ConfigObject::objects(
    std::string_view key) const {
  std::vector<ConfigObject> objects;
  const Json* value = find(key);
  if (value == nullptr) return objects;
  const Json::Array* array = value->as_array();
  if (array == nullptr) return expected(key, "an array of objects");
  for (const Json& element : *array) {
    const std::string path =
        fmt::format("{}[{}]", path_of(key), objects.size());
    if (element.as_object() == nullptr) {
      return Error{Error::Code::invalid_config,
                   document_->locate(element, path,
                                     fmt::format("expected an object, found {}",
                                                 shown(element)))};
    }
    objects.emplace_back(*document_, element, path);
  }
  return objects;
}

void ConfigObject::warn_of_unknown(
    std::span<const std::string> known,
    std::string (*remedy_for)(std::string_view key)) const {
  // Longer keys are not typing errors.
  constexpr std::size_t kLongest = 100;
  for (const auto& [key, value] : members()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    std::string what =
        fmt::format("{} is unknown here and ignored", shown(key));
    if (const std::string remedy = remedy_for(key); !remedy.empty()) {
      what += "; " + remedy;
    } else if (key.size() <= kLongest) {
      what += "; nearest: " + quoted_list(nearest_names(key, known, 3));
    }
    document_->warn_of_key(value, path_, what);
  }
}

}  // namespace smdebug
