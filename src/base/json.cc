#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "base/json_remedy.h"

namespace smdebug {
namespace {

using Library = nlohmann::json;

// Deeper than any document of smdebug, and shallow enough for any stack.
constexpr std::size_t kMaxDepth = 128;

// Larger than any document of smdebug. A value takes many times the memory of
// its text.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// An iterator that counts the bytes that the library reads: its events have no
// position in the text.
class CountedInput {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedInput(const char* at, std::size_t* bytes_read)
      : at_(at), bytes_read_(bytes_read) {}

  const char& operator*() const { return *at_; }
  CountedInput& operator++() {
    ++at_;
    ++*bytes_read_;
    return *this;
  }
  friend bool operator==(const CountedInput& a, const CountedInput& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  std::size_t* bytes_read_;
};

void append_quoted(const std::string& text, bool ascii, std::string& out) {
  out += Library(text).dump(-1, ' ', ascii, Library::error_handler_t::replace);
}

// Writes the shortest text that is parsed as the same double, and never that of
// an integer, like Python's repr.
void append_double(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::string digits = fmt::format("{}", value);
  out += digits;
  if (digits.find_first_of(".e") == std::string::npos) out += ".0";
}

class Writer {
 public:
  Writer(JsonStyle style, std::string& out) : style_(style), out_(out) {}

  void write(const Json& value) {
    if (const auto* array = value.as_array()) {
      write_list('[', ']', *array,
                 [&](const Json& element) { write(element); });
    } else if (const auto* object = value.as_object()) {
      write_list('{', '}', *object, [&](const Json::Member& member) {
        append_quoted(member.key, ascii(), out_);
        out_ += style_ == JsonStyle::compact ? ":" : ": ";
        write(member.value);
      });
    } else if (const auto* text = value.as_string()) {
      append_quoted(*text, ascii(), out_);
    } else if (const auto boolean = value.as_bool()) {
      out_ += *boolean ? "true" : "false";
    } else if (value.is_null()) {
      out_ += "null";
    } else {
      write_number(value);
    }
  }

 private:
  bool ascii() const { return style_ != JsonStyle::compact; }

  void write_number(const Json& value) {
    if (value.is_integer()) {
      out_ += std::to_string(*value.as_int());
    } else {
      append_double(*value.as_double(), out_);
    }
  }

  template <typename List, typename WriteOne>
  void write_list(char open, char close, const List& list, WriteOne write_one) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& one : list) {
      if (!first) out_ += style_ == JsonStyle::spaced ? ", " : ",";
      first = false;
      new_line();
      write_one(one);
    }
    --depth_;
    if (!first) new_line();
    out_ += close;
  }

  void new_line() {
    if (style_ != JsonStyle::indented) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  JsonStyle style_;
  std::string& out_;
  std::size_t depth_ = 0;
};

Error wrong_member(const Json& parent, std::string_view key,
                   std::string_view wanted) {
  const Json* member = parent.find(key);
  if (parent.as_object() == nullptr) {
    return {Error::Code::corrupt,
            fmt::format("should be an object with '{}' but is {}", key,
                        parent.type_name())};
  }
  if (member == nullptr) {
    return {Error::Code::corrupt, fmt::format("'{}' is missing", key)};
  }
  return {Error::Code::corrupt, fmt::format("'{}' should be {} but is {}", key,
                                            wanted, member->type_name())};
}

}  // namespace

// Builds a value from the events of the library's parser.
class Json::Builder {
 public:
  Builder(std::string_view text, std::string_view name)
      : text_(text),
        name_(name),
        read_before_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size()
                                                      : 0) {}

  bool parse() {
    const char* end = text_.data() + text_.size();
    return Library::sax_parse(CountedInput(text_.data(), &bytes_read_),
                              CountedInput(end, &bytes_read_), this);
  }

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(Library::number_integer_t value) {
    return add(Json(value));
  }
  bool number_unsigned(Library::number_unsigned_t value) {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      return add(Json(static_cast<double>(value)));
    }
    return add(Json(value));
  }
  bool number_float(Library::number_float_t value, const std::string&) {
    return add(Json(value));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(Library::binary_t&) { return false; }

  bool start_object(std::size_t) { return open(); }
  bool start_array(std::size_t) { return open(); }
  bool key(std::string& key) {
    next_offset();
    key_ = std::move(key);
    return true;
  }
  bool end_object() {
    Level level = close();
    return keep(Json(std::move(level.members)), level.offset);
  }
  bool end_array() {
    Level level = close();
    Json::Array elements;
    elements.reserve(level.members.size());
    for (Json::Member& member : level.members) {
      elements.push_back(std::move(member.value));
    }
    return keep(Json(std::move(elements)), level.offset);
  }

  // `bytes_read` includes the invalid byte.
  bool parse_error(std::size_t bytes_read, const std::string& token,
                   const Library::exception&) {
    if (text_.find_first_not_of(" \t\r\n") == text_.npos)
      return refuse(0, "not JSON: it is empty");
    const std::size_t offset = bytes_read == 0 ? 0 : bytes_read - 1;
    const std::string remedy = json_remedy(text_, offset);
    return refuse(offset,
                  fmt::format("not JSON near '{}'{}{}", token.substr(0, 40),
                              remedy.empty() ? "" : ": ", remedy));
  }

  Json& root() { return root_; }
  const std::string& message() const { return message_; }

 private:
  // An unfinished object or array. Elements of arrays have no keys.
  struct Level {
    std::string key;  // in its parent
    std::size_t offset = 0;
    Json::Object members;
  };

  // Returns the start of the token of this event: the first byte after the
  // previous token that is not a separator. The library reads one byte past a
  // number.
  std::size_t next_offset() {
    const std::size_t begin =
        text_.find_first_not_of(" \t\r\n,:", read_before_);
    read_before_ = bytes_read_;
    return begin;
  }

  bool add(Json value) { return keep(std::move(value), next_offset()); }

  bool keep(Json value, std::size_t offset) {
    value.offset_ = offset;
    if (levels_.empty()) {
      root_ = std::move(value);
    } else {
      levels_.back().members.push_back({std::move(key_), std::move(value)});
    }
    return true;
  }

  bool open() {
    const std::size_t offset = next_offset();
    if (levels_.size() == kMaxDepth) {
      return refuse(offset,
                    fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    levels_.push_back({std::move(key_), offset, {}});
    return true;
  }

  bool refuse(std::size_t offset, std::string_view why) {
    const TextPosition place = position_in(text_, offset);
    message_ = name_.empty() ? fmt::format("line {}, column {}: {}", place.line,
                                           place.column, why)
                             : fmt::format("{}:{}:{}: {}", name_, place.line,
                                           place.column, why);
    return false;
  }

  Level close() {
    read_before_ = bytes_read_;
    Level level = std::move(levels_.back());
    levels_.pop_back();
    key_ = std::move(level.key);
    return level;
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t bytes_read_ = 0;
  std::size_t read_before_ = 0;  // the token of this event
  std::vector<Level> levels_;
  std::string key_;
  Json root_;
  std::string message_;
};

namespace {

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// A byte of the form 10xxxxxx continues a character of UTF-8.
std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

}  // namespace

TextPosition position_in(std::string_view text, std::size_t offset) {
  return TextPositions(text).at(offset);
}

TextPosition TextPositions::at(std::size_t offset) {
  offset = std::min(offset, text_.size());
  const bool is_later = offset >= offset_;
  const std::string_view between = is_later
                                       ? text_.substr(offset_, offset - offset_)
                                       : text_.substr(offset, offset_ - offset);
  const std::size_t lines = count_lines(between);
  if (lines > 0) {
    const std::string_view before = text_.substr(0, offset);
    position_.column =
        1 + count_characters(before.substr(before.rfind('\n') + 1));
  } else if (is_later) {
    position_.column += count_characters(between);
  } else {
    position_.column -= count_characters(between);
  }
  position_.line = is_later ? position_.line + lines : position_.line - lines;
  offset_ = offset;
  return position_;
}

Result<Json> Json::parse(std::string_view text, std::string_view name) {
  if (text.size() > kMaxTextBytes) {
    return Error{Error::Code::corrupt,
                 fmt::format("{} bytes exceed the limit of {} bytes",
                             text.size(), kMaxTextBytes)};
  }
  Builder builder(text, name);
  if (!builder.parse()) {
    return Error{Error::Code::corrupt, builder.message()};
  }
  return std::move(builder.root());
}

std::string Json::dump(JsonStyle style) const {
  std::string out;
  Writer(style, out).write(*this);
  return out;
}

bool Json::is_null() const {
  return std::holds_alternative<std::monostate>(value_);
}

bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_);
}

std::optional<bool> Json::as_bool() const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  return {};
}

std::optional<std::int64_t> Json::as_int() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  // 2^63: the first double that no int64 can hold.
  constexpr double kLimit = 9223372036854775808.0;
  if (const auto* value = std::get_if<double>(&value_)) {
    if (*value >= -kLimit && *value < kLimit && std::trunc(*value) == *value) {
      return static_cast<std::int64_t>(*value);
    }
  }
  return {};
}

std::optional<double> Json::as_double() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  return {};
}

const std::string* Json::as_string() const {
  return std::get_if<std::string>(&value_);
}

const Json::Array* Json::as_array() const {
  return std::get_if<Array>(&value_);
}

const Json::Object* Json::as_object() const {
  return std::get_if<Object>(&value_);
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  const auto found =
      std::find_if(object->rbegin(), object->rend(),
                   [&](const Member& member) { return member.key == key; });
  return found == object->rend() ? nullptr : &found->value;
}

Result<bool> Json::bool_at(std::string_view key) const {
  const Json* member = find(key);
  const auto value = member ? member->as_bool() : std::nullopt;
  if (!value) return wrong_member(*this, key, "a boolean");
  return *value;
}

Result<std::int64_t> Json::int_at(std::string_view key) const {
  const Json* member = find(key);
  const auto value = member ? member->as_int() : std::nullopt;
  if (!value) return wrong_member(*this, key, "a 64-bit integer");
  return *value;
}

Result<double> Json::double_at(std::string_view key) const {
  const Json* member = find(key);
  const auto value = member ? member->as_double() : std::nullopt;
  if (!value) return wrong_member(*this, key, "a number");
  return *value;
}

Result<std::string> Json::string_at(std::string_view key) const {
  const Json* member = find(key);
  const auto* value = member ? member->as_string() : nullptr;
  if (value == nullptr) return wrong_member(*this, key, "a string");
  return *value;
}

Result<const Json::Array*> Json::array_at(std::string_view key) const {
  const Json* member = find(key);
  const auto* value = member ? member->as_array() : nullptr;
  if (value == nullptr) return wrong_member(*this, key, "an array");
  return value;
}

Result<const Json::Object*> Json::object_at(std::string_view key) const {
  const Json* member = find(key);
  const auto* value = member ? member->as_object() : nullptr;
  if (value == nullptr) return wrong_member(*this, key, "an object");
  return value;
}

std::string_view Json::type_name() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "a number",
                                         "a number", "a string",  "an array",
                                         "an object"};
  return kNames[value_.index()];
}

Json& Json::operator[](std::string_view key) {
  if (as_object() == nullptr) value_ = Object();
  if (const Json* found = find(key)) return *const_cast<Json*>(found);
  Object& members = std::get<Object>(value_);
  members.push_back({std::string(key), Json()});
  return members.back().value;
}

void Json::append(Json element) {
  if (as_array() == nullptr) value_ = Array();
  std::get<Array>(value_).push_back(std::move(element));
}

bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

}  // namespace smdebug
