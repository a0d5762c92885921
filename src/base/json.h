#pragma once

// `Json` is one JSON value. run.json, collection files, configurations and the
// output of every `--json` option use it. Members keep their order, and a
// lookup is a linear search, so this is for documents of a size that people
// read. Index files have their own parser.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

// `compact` has no blanks. `spaced` is the format of Python's json.dumps: ", "
// and ": ", only ASCII. `indented` is for readers: two blanks per level, only
// ASCII.
enum class JsonStyle { compact, spaced, indented };

// The position of a byte in a text: line and column from 1. Columns count
// characters of UTF-8, as in editors.
struct TextPosition {
  std::size_t line = 1;
  std::size_t column = 1;
};

TextPosition position_in(std::string_view text, std::size_t offset);

// Finds the positions of several bytes of a text. Each search starts at the
// byte before it, because the time of many searches from the start of a text
// grows with the square of its length.
class TextPositions {
 public:
  explicit TextPositions(std::string_view text) : text_(text) {}

  TextPosition at(std::size_t offset);

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  TextPosition position_;  // of `offset_`
};

class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  Json();  // null
  Json(std::nullptr_t);
  Json(bool value);
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value);
  Json(double value);
  Json(std::string value);
  Json(std::string_view value);
  Json(const char* value);
  Json(Array value);
  Json(Object value);
  template <typename T>
  Json(const std::optional<T>& value);

  // Fails with `corrupt` and the position: "line 3, column 7: ...", or
  // "a.json:3:7: ..." if `name` is given. Nesting and size are limited, so no
  // text can exhaust stack or memory. An integer of more than 64 bits becomes a
  // double.
  static Result<Json> parse(std::string_view text, std::string_view name = {});

  // Numbers that are not finite become null, because JSON has none; bytes that
  // are not UTF-8 become U+FFFD. Parsing the result restores doubles exactly.
  std::string dump(JsonStyle style = JsonStyle::compact) const;

  // Return the value if it has this type.
  bool is_null() const;
  bool is_integer() const;  // written without point or exponent
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int() const;  // 3.0 is an integer too
  std::optional<double> as_double() const;
  const std::string* as_string() const;
  const Array* as_array() const;
  const Object* as_object() const;

  // Returns the member `key` of an object, or null. The last of several members
  // with the same key counts, as in Python.
  const Json* find(std::string_view key) const;

  // Return the member `key`. Fail with `corrupt` if it is missing or has
  // another type: "'steps' should be a number but is a string".
  Result<bool> bool_at(std::string_view key) const;
  Result<std::int64_t> int_at(std::string_view key) const;
  Result<double> double_at(std::string_view key) const;
  Result<std::string> string_at(std::string_view key) const;
  // The pointer lives as long as this value.
  Result<const Array*> array_at(std::string_view key) const;
  Result<const Object*> object_at(std::string_view key) const;

  // Returns the position of this value in the parsed text, in bytes; 0 for a
  // value that was not parsed. Comparisons ignore the position.
  std::size_t offset() const { return offset_; }

  // "null", "a boolean", "a number", "a string", "an array", "an object".
  std::string_view type_name() const;

  // Returns the member `key`; adds it if missing. A value that is not an object
  // first becomes an empty one.
  Json& operator[](std::string_view key);

  // Adds an element. A value that is not an array first becomes an empty one.
  void append(Json element);

  friend bool operator==(const Json&, const Json&);

 private:
  class Builder;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array,
               Object>
      value_;
  std::size_t offset_ = 0;
};

struct Json::Member {
  std::string key;
  Json value;

  friend bool operator==(const Member&, const Member&) = default;
};

// `Member`, and with it the variant, is complete only from here on.
inline Json::Json() = default;
inline Json::Json(std::nullptr_t) {}
inline Json::Json(bool value) : value_(value) {}
template <std::integral T>
requires(!std::same_as<T, bool>) Json::Json(T value)
    : value_(static_cast<std::int64_t>(value)) {}
inline Json::Json(double value) : value_(value) {}
inline Json::Json(std::string value) : value_(std::move(value)) {}
inline Json::Json(std::string_view value) : value_(std::string(value)) {}
inline Json::Json(const char* value) : value_(std::string(value)) {}
inline Json::Json(Array value) : value_(std::move(value)) {}
inline Json::Json(Object value) : value_(std::move(value)) {}
template <typename T>
Json::Json(const std::optional<T>& value) {
  if (value) *this = Json(*value);
}

}  // namespace smdebug
