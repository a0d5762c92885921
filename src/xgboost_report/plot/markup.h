#pragma once

// Text, tables and the style sheet of an HTML report. Names in a run come from
// unknown sources: every text that is not a constant of smdebug is escaped
// here.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// Returns `text` as one line without characters that have a meaning in markup.
// Control characters and bytes that are not UTF-8 become visible escapes.
std::string escaped(std::string_view text);

// As `escaped`, with places where a browser may break long names: after "_",
// "/" and similar characters, and within words of more than 24 characters.
std::string wrappable(std::string_view text);

// Returns `text` with its middle replaced by "…" if it has more than
// `characters`, so that names with a common start remain distinct.
std::string shortened_middle(std::string_view text, std::size_t characters);

// Splits a name into lines of at most `width`, in widths of an average lower
// case letter. Breaks where `wrappable` does, and at spaces.
std::vector<std::string> wrapped_lines(std::string_view text, double width);

// Returns the first `characters` of `text`, followed by "…" if it was longer.
// Counts characters of UTF-8.
std::string shortened(std::string_view text, std::size_t characters);

// A table. Cells are escaped.
class HtmlTable {
 public:
  // A heading that starts with '>' is that of a column of numbers, as in
  // `TextTable`. Without headings the table has no heading row, and all cells
  // are text.
  explicit HtmlTable(const std::vector<std::string>& headings = {});

  void add(const std::vector<std::string>& row);
  std::string html() const;

 private:
  std::vector<bool> of_numbers_;
  std::string html_;
};

// Returns the style sheet: text as in print, plots in colors that color-blind
// readers can distinguish, in a light and a dark version.
std::string_view report_style();

}  // namespace smdebug
