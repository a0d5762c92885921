#pragma once

// A table of a report. Cells are escaped.

#include <string>
#include <vector>

namespace smdebug {

class HtmlTable {
 public:
  // As in `TextTable`: a heading that starts with '>' is of numbers. Without
  // any heading, none is shown, and all cells are texts.
  explicit HtmlTable(std::vector<std::string> headings = {});

  void add(const std::vector<std::string>& row);
  std::string html() const;

 private:
  std::vector<bool> of_numbers_;
  std::string html_;
};

}  // namespace smdebug
