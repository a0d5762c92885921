#pragma once

// Operations on text: the words of configurations and parameters, UTF-8, and
// counts in messages.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace smdebug {

// Removes white space at both ends.
std::string_view trimmed(std::string_view text);

// Returns true if `text` has no control characters. A line feed would end the
// line of a text protocol and could start another command.
bool is_one_line(std::string_view text);

// Convert A to Z to lower case; leave all other characters unchanged.
constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lower_case(std::string_view text);

// Splits at commas, trims the parts, and omits empty ones.
std::vector<std::string> split_list(std::string_view text);

// Accepts true, t, yes, y, on, 1 and false, f, no, n, off, 0 in any case.
std::optional<bool> find_boolean(std::string_view text);

// Returns the number of type T if it is all of `text`.
template <typename T>
std::optional<T> find_number(std::string_view text) {
  T number{};
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// Returns "1 step", "2 steps", "0 steps".
std::string count_text(std::uint64_t count, std::string_view singular);

// "2 steps are too few; 5 are needed".
std::string too_few_text(std::uint64_t count, std::string_view singular,
                         std::uint64_t needed);

// Returns the first `shown` different names: "a, b, and 3 more".
std::string names_text(std::span<const std::string> names,
                       std::size_t shown = 3);

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

// Returns the first character of `text`, or nothing if `text` is empty or does
// not start with valid UTF-8. Overlong forms and surrogates are not valid.
std::optional<CodePoint> first_code_point(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace smdebug
