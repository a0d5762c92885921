#pragma once

// Reads JSON configurations that people write: booleans and numbers may be
// text, and lists may be text with commas. Errors name the file, line, column
// and path of keys:
//
//   debughookconfig.json:4:21: HookParameters.save_interval: expected a number
//   or numeric text, found "often"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

#include "base/json.h"

namespace smdebug {

// Parses a configuration, which must be an object. Fails with `invalid_config`:
// "<file>:<line>:<column>: ...".
Result<Json> parse_config_json(std::string_view text, std::string_view file);

// The text of a configuration, and the warnings about it. Outlives its objects.
class ConfigDocument {
 public:
  ConfigDocument(std::string_view text, std::string_view file)
      : text_(text), positions_(text), file_(file) {}

  // Returns "file:line:column: path: what", for `value` at `path`.
  std::string locate(const Json& value, std::string_view path,
                     std::string_view what) const;

  // Warns of the key of `value` instead of the value.
  void warn_of_key(const Json& value, std::string_view path,
                   std::string_view what) {
    warnings.push_back(locate(offset_of_key(value), path, what));
  }
  void warn(const Json& value, std::string_view path, std::string_view what) {
    warnings.push_back(locate(value, path, what));
  }

  // Warns of each key that an object has twice; the last one counts.
  void warn_of_repeated_keys(const Json& value, const std::string& path = "");

  std::vector<std::string> warnings;

 private:
  std::string locate(std::size_t offset, std::string_view path,
                     std::string_view what) const;
  // The position of the key of a member; of any other value, that of the value.
  std::size_t offset_of_key(const Json& value) const;

  std::string_view text_;
  mutable TextPositions positions_;
  std::string_view file_;
};

// One object of the document. For a member that is absent or null, each
// function returns none. All fail with `invalid_config`.
class ConfigObject {
 public:
  // `json` is an object and outlives this.
  ConfigObject(ConfigDocument& document, const Json& json, std::string path)
      : document_(&document), json_(&json), path_(std::move(path)) {}

  const Json::Object& members() const { return *json_->as_object(); }
  const std::string& path() const { return path_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool is_text(std::string_view key) const {
    return has(key) && find(key)->as_string() != nullptr;
  }

  Result<std::optional<std::string>> text(std::string_view key) const;
  // Reads true, false, or a word for one of them.
  Result<std::optional<bool>> flag(std::string_view key) const;
  // Reads a number or numeric text. Cuts off decimals, and warns of it.
  Result<std::optional<Step>> number(std::string_view key) const;
  // Reads "1,2,3", an array of what `number` accepts, or one number.
  Result<std::optional<std::vector<Step>>> numbers(std::string_view key) const;
  // Reads "a,b", or an array of strings, which may contain commas.
  Result<std::optional<std::vector<std::string>>> texts(
      std::string_view key) const;
  Result<std::optional<ConfigObject>> object(std::string_view key) const;
  // Reads an array of objects.
  Result<std::vector<ConfigObject>> objects(std::string_view key) const;

  // Returns "...: path.key: expected <expected>, found <the value>". The key
  // must exist.
  Error expected(std::string_view key, std::string_view expected) const;
  // Returns "...: path.key: <what>"; without a key, an error about the object.
  Error mistake(std::string_view key, std::string_view what) const;
  void warn(std::string_view key, std::string_view what) const;

  // Warns of each member that is not in `known`, with what `remedy_for` returns
  // for its key, such as the place where it belongs, or else ("") with the
  // nearest names.
  void warn_of_unknown(std::span<const std::string> known,
                       std::string (*remedy_for)(std::string_view key)) const;

 private:
  const Json* find(std::string_view key) const;
  const Json& at(std::string_view key) const;
  std::string path_of(std::string_view key) const;

  ConfigDocument* document_;
  const Json* json_;
  std::string path_;
};

}  // namespace smdebug
