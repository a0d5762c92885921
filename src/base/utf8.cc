#include "base/utf8.h"

namespace smdebug {
namespace {

// How many bytes follow a first byte, its bits, and the smallest value that
// needs so many.
struct Form {
  unsigned char mask, first;
  std::size_t following;
  char32_t smallest;
};
constexpr Form kForms[] = {{0x80, 0x00, 0, 0},
                           {0xe0, 0xc0, 1, 0x80},
                           {0xf0, 0xe0, 2, 0x800},
                           {0xf8, 0xf0, 3, 0x10000}};

constexpr char32_t kLargest = 0x10ffff;

bool is_surrogate(char32_t value) { return value >= 0xd800 && value <= 0xdfff; }

}  // namespace

std::optional<CodePoint> first_code_point(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto first = static_cast<unsigned char>(text[0]);
  for (const Form& form : kForms) {
    if ((first & form.mask) != form.first) continue;
    if (text.size() <= form.following) return std::nullopt;
    auto value = static_cast<char32_t>(first & ~form.mask);
    for (std::size_t i = 1; i <= form.following; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xc0) != 0x80) return std::nullopt;
      value = value << 6 | (byte & 0x3f);
    }
    if (value < form.smallest || value > kLargest || is_surrogate(value)) {
      return std::nullopt;
    }
    return CodePoint{value, form.following + 1};
  }
  return std::nullopt;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto code_point = first_code_point(text);
    if (!code_point) return false;
    text.remove_prefix(code_point->bytes);
  }
  return true;
}

}  // namespace smdebug
