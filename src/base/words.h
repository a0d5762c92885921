#pragma once

// Words as users write them into configurations, variables and parameters.

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace smdebug {

// Without the blanks around it.
std::string_view trimmed(std::string_view text);

// True where it holds no control character: no line feed either, behind which a
// protocol of lines would take something of its own.
bool is_one_line(std::string_view text);

// A to Z made small; the rest as it is.
std::string lower_case(std::string_view text);

// The parts between commas, trimmed, without empty ones.
std::vector<std::string> split_list(std::string_view text);

// true, t, yes, y, on, 1 and false, f, no, n, off, 0, in any case; else none.
std::optional<bool> find_boolean(std::string_view text);

// The whole of `text` as a number of type T, or none.
template <typename T>
std::optional<T> find_number(std::string_view text) {
  T number{};
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace smdebug
