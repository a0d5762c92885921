#include "base/json_remedy.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace smdebug {
namespace {

// Returns the end of the token that begins at `begin`: a string, one of
// ",:{}[]", or a word such as a number; npos if a string has no end.
std::size_t token_end(std::string_view text, std::size_t begin) {
  constexpr std::string_view kMarks = ",:{}[]";
  if (kMarks.find(text[begin]) != kMarks.npos) return begin + 1;
  if (text[begin] != '"') {
    return std::min(text.size(), text.find_first_of(" \t\r\n,:{}[]\"", begin));
  }
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.npos;
}

// The place of a mistake in a text. All tokens before it are valid.
struct Mistake {
  std::string_view token;  // empty: the text ends here
  std::string_view before;
  bool follows_key = false;
  bool is_open_string = false;  // a string that begins here or before
  std::string open;             // the brackets without an end
};

Mistake find_mistake(std::string_view text, std::size_t offset) {
  constexpr std::string_view kBlanks = " \t\r\n";
  Mistake found;
  for (auto begin = text.find_first_not_of(kBlanks); begin != text.npos;
       begin = text.find_first_not_of(kBlanks, begin + found.before.size())) {
    const std::size_t end = token_end(text, begin);
    found.token = text.substr(begin, end - begin);
    found.is_open_string = end == text.npos;
    if (found.is_open_string || end > offset) return found;
    const char first = found.token.front();
    found.follows_key = first == '"' && found.open.ends_with('{') &&
                        (found.before == "{" || found.before == ",");
    if (first == '{' || first == '[') found.open += first;
    if ((first == '}' || first == ']') && !found.open.empty())
      found.open.pop_back();
    found.before = std::exchange(found.token, {});
  }
  return found;
}

bool begins_value(std::string_view token) {
  const char c = token.front();
  return std::string_view("\"{[-").find(c) != std::string_view::npos ||
         (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string json_remedy(std::string_view text, std::size_t offset) {
  constexpr std::size_t kLongestToken = 40;
  constexpr std::pair<std::string_view, std::string_view> kPythonWords[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};
  const auto [token, before, follows_key, is_open_string, open] =
      find_mistake(text, offset);
  const bool is_at_end = offset >= text.size();
  if (is_open_string) return is_at_end ? "the text ends before '\"'" : "";
  if (is_at_end && !open.empty())
    return fmt::format("the text ends before '{}'",
                       open.back() == '{' ? '}' : ']');
  if (token.empty()) return "";
  const char first = token.front();
  if (before == "," && (first == '}' || first == ']'))
    return fmt::format("remove the comma before '{}'", first);
  if (first == '\'') return "use double quotes";
  if (first == '#' || token.starts_with("//") || token.starts_with("/*"))
    return "JSON has no comments";
  for (const auto& [python, word] : kPythonWords) {
    if (token == python) return fmt::format("write {}", word);
  }
  const bool follows_value = !before.empty() && before != "," &&
                             before != ":" && before != "{" && before != "[";
  if (open.empty() || !follows_value || !begins_value(token) ||
      token.size() > kLongestToken)
    return "";
  return fmt::format("a {} is missing before '{}'",
                     follows_key ? "colon" : "comma", token);
}

}  // namespace smdebug
