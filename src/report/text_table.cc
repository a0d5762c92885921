#include "report/text_table.h"

#include <algorithm>

#include "smdebug/base/escape.h"

namespace smdebug {
namespace {

// Counts characters, not bytes: continuation bytes of UTF-8 have no width.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headings)
    : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    to_the_right_.push_back(heading.starts_with('>'));
    if (to_the_right_.back()) heading.erase(0, 1);
  }
}

void TextTable::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::string TextTable::text(std::string_view indent) const {
  std::vector<std::vector<std::string>> lines = rows_;
  const bool has_headings =
      std::ranges::any_of(headings_, [](const auto& h) { return !h.empty(); });
  if (has_headings) lines.insert(lines.begin(), headings_);

  std::vector<std::size_t> widths(headings_.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row(indent);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string blanks(widths[i] - width_of(line[i]), ' ');
      if (i > 0) row += "  ";
      row += to_the_right_[i] ? blanks + line[i] : line[i] + blanks;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace smdebug
