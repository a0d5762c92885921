#pragma once

// `Json` is one JSON value: what run.json, collection files, configurations
// and the output of every `--json` option are made of. Members keep the order
// they were given in. Looking one up walks the list, so this is for documents
// that a person could read; index files have a parser of their own.

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

// `compact` has no blanks. `spaced` is what Python's json.dumps writes: ", "
// and ": ", ASCII only. `indented` is for people: two blanks per level, ASCII
// only.
enum class JsonStyle { compact, spaced, indented };

// Where a byte of a text stands: line and column from 1, columns in characters
// of UTF-8, as editors count them.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

TextPlace place_in(std::string_view text, std::size_t offset);

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

  // Fails with `corrupt`, naming line and column: "line 3, column 7: ...", or
  // "a.json:3:7: ..." for a text whose `name` is given. Nesting and size are
  // bounded, so no text can exhaust stack or memory. An integer beyond 64 bits
  // becomes a double.
  static Result<Json> parse(std::string_view text, std::string_view name = {});

  // Non-finite numbers become null, as JSON has none; bytes that are not
  // UTF-8 become U+FFFD. Doubles read back exactly.
  std::string dump(JsonStyle style = JsonStyle::compact) const;

  // What this value is, or none.
  bool is_null() const;
  bool is_integer() const;  // written without point or exponent
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int() const;  // 3.0 is an integer too
  std::optional<double> as_double() const;
  const std::string* as_string() const;
  const Array* as_array() const;
  const Object* as_object() const;

  // Returns the member `key` of an object, or null. Where a key was written
  // twice the last one counts, as in Python.
  const Json* find(std::string_view key) const;

  // Return the member `key`. Fail with `corrupt` where there is none or it is
  // of another type: "'steps' should be a number but is a string".
  Result<bool> bool_at(std::string_view key) const;
  Result<std::int64_t> int_at(std::string_view key) const;
  Result<double> double_at(std::string_view key) const;
  Result<std::string> string_at(std::string_view key) const;
  // The pointer lives as long as this value.
  Result<const Array*> array_at(std::string_view key) const;
  Result<const Object*> object_at(std::string_view key) const;

  // At which byte of the parsed text this value begins; 0 for a value that was
  // not parsed. Values are equal wherever they stood.
  std::size_t offset() const { return offset_; }

  // "null", "a boolean", "a number", "a string", "an array", "an object".
  std::string_view type_name() const;

  // Returns the member `key`, new where there was none. A value that is no
  // object becomes an empty one first.
  Json& operator[](std::string_view key);

  // Adds an element. A value that is no array becomes an empty one first.
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

// Only here is `Member` complete, and with it the variant.
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
