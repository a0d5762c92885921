#pragma once

// `TextTable` lays rows out in columns for a terminal: as wide as their widest
// cell, two blanks between, numbers to the right.

#include <string>
#include <vector>

namespace smdebug {

class TextTable {
 public:
  // A heading that starts with '>' is of a column whose cells stand to the
  // right; the '>' is not shown. Without any heading, none is printed.
  explicit TextTable(std::vector<std::string> headings);

  // Takes as many cells as there are headings; each becomes printable.
  void add(std::vector<std::string> row);
  std::size_t rows() const { return rows_.size(); }

  // Every line starts with `indent` and ends with a line feed, without blanks
  // before it.
  std::string text(std::string_view indent = "") const;

 private:
  std::vector<bool> to_the_right_;
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace smdebug
