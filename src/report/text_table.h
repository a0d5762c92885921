#pragma once

// `TextTable` lays out rows in columns for a terminal: as wide as their widest
// cell, separated by two spaces, with numbers aligned to the right.

#include <string>
#include <vector>

namespace smdebug {

class TextTable {
 public:
  // A '>' before a heading aligns its column to the right and is not shown. If
  // all headings are empty, none is printed.
  explicit TextTable(std::vector<std::string> headings);

  // Takes one cell per heading, and escapes what is not printable.
  void add(std::vector<std::string> row);
  std::size_t rows() const { return rows_.size(); }

  // Each line starts with `indent` and ends with a line feed, without trailing
  // spaces.
  std::string text(std::string_view indent = "") const;

 private:
  std::vector<bool> to_the_right_;
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace smdebug
