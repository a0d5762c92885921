#include "base/words.h"

#include <algorithm>
#include <array>

namespace smdebug {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::optional<bool> find_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"true", "t",  "yes",
                                                     "y",    "on", "1"};
  constexpr std::array<std::string_view, 6> kFalse = {"false", "f",   "no",
                                                      "n",     "off", "0"};
  const std::string word = lower_case(trimmed(text));
  if (std::ranges::find(kTrue, word) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, word) != kFalse.end()) return false;
  return {};
}

}  // namespace smdebug
