#include "base/shell_words.h"

namespace smdebug {

std::optional<std::vector<std::string>> find_shell_words(
    std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> words;
  bool is_in_word = false;
  std::optional<char> quote;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quote && kBlanks.find(c) != kBlanks.npos) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    std::string& word = words.back();
    if (c == quote) {
      quote.reset();
    } else if (!quote && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (++i == text.size()) return {};
      // Between quotes, a backslash is kept before an ordinary character.
      if (quote && text[i] != '\\' && text[i] != *quote) word += '\\';
      word += text[i];
    } else {
      word += c;
    }
  }
  if (quote) return {};
  return words;
}

}  // namespace smdebug
