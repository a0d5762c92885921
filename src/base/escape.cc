#include "smdebug/base/escape.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace smdebug {
namespace {

// C0, DEL and C1.
bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

// Embeddings, overrides, isolates and direction marks, and the separators that
// some programs treat as line ends.
bool changes_direction(char32_t c) {
  return c == 0x061c || (c >= 0x200e && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string escape(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  const auto number = static_cast<std::uint32_t>(c);
  return number < 0x100 ? fmt::format("\\x{:02x}", number)
                        : fmt::format("\\u{:04x}", number);
}

std::string escaped(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto next = first_code_point(text);
    const std::size_t bytes = next ? next->bytes : 1;
    if (!next) {
      out += escape(static_cast<unsigned char>(text[0]));
    } else if (keeps_lines && next->value == '\n') {
      out += '\n';
    } else if (is_control(next->value) || changes_direction(next->value)) {
      out += escape(next->value);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }

std::string printable_lines(std::string_view text) {
  return escaped(text, true);
}

}  // namespace smdebug
