#include "base/strings.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/format.h>

namespace smdebug {
namespace {

// The first byte of a character: the bits under `mask` identify the form, which
// has `following` more bytes. A value below `smallest` has a shorter form.
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
  std::ranges::transform(lower, lower.begin(), lower_ascii);
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

std::string count_text(std::uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string too_few_text(std::uint64_t count, std::string_view singular,
                         std::uint64_t needed) {
  return fmt::format("{} {} too few; {} are needed",
                     count_text(count, singular), count == 1 ? "is" : "are",
                     needed);
}

std::string names_text(std::span<const std::string> names, std::size_t shown) {
  std::unordered_set<std::string_view> different;
  std::string text;
  for (const std::string& name : names) {
    if (!different.insert(name).second || different.size() > shown) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  if (different.size() > shown)
    text += fmt::format(", and {} more", different.size() - shown);
  return text;
}

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
