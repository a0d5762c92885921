#include "xgboost_report/plot/markup.h"

#include "smdebug/base/printable.h"

#include "base/utf8.h"

namespace smdebug {

std::string escaped(std::string_view text) {
  std::string markup;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        markup += "&amp;";
        break;
      case '<':
        markup += "&lt;";
        break;
      case '>':
        markup += "&gt;";
        break;
      case '"':
        markup += "&quot;";
        break;
      case '\'':
        markup += "&#39;";
        break;
      default:
        markup += c;
    }
  }
  return markup;
}

std::string shortened(std::string_view text, std::size_t characters) {
  std::size_t end = 0;
  std::string_view rest = text;
  for (std::size_t i = 0; i < characters && !rest.empty(); ++i) {
    const auto point = first_code_point(rest);
    const std::size_t bytes = point ? point->bytes : 1;
    rest.remove_prefix(bytes);
    end += bytes;
  }
  if (rest.empty()) return std::string(text);
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace smdebug
