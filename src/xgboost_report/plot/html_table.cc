#include "xgboost_report/plot/html_table.h"

#include <fmt/format.h>

#include "xgboost_report/plot/markup.h"

namespace smdebug {
namespace {

std::string cell(std::string_view tag, bool of_numbers, std::string_view text) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag,
                     of_numbers ? " class=\"number\"" : "", escaped(text));
}

}  // namespace

HtmlTable::HtmlTable(std::vector<std::string> headings) {
  if (headings.empty()) return;
  html_ = "<tr>";
  for (std::string_view heading : headings) {
    of_numbers_.push_back(heading.starts_with('>'));
    if (of_numbers_.back()) heading.remove_prefix(1);
    html_ += cell("th", of_numbers_.back(), heading);
  }
  html_ += "</tr>\n";
}

void HtmlTable::add(const std::vector<std::string>& row) {
  html_ += "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    html_ += cell("td", i < of_numbers_.size() && of_numbers_[i], row[i]);
  }
  html_ += "</tr>\n";
}

std::string HtmlTable::html() const {
  return "<table>\n" + html_ + "</table>\n";
}

}  // namespace smdebug
