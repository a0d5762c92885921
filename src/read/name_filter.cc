#include "read/name_filter.h"

#include <algorithm>
#include <utility>

namespace smdebug {

Result<NameFilter> NameFilter::create(const std::vector<std::string>& patterns,
                                      std::vector<std::string> names) {
  NameFilter filter;
  filter.names_ = std::move(names);
  std::ranges::sort(filter.names_);
  for (const std::string& pattern : patterns) {
    auto regex = Regex::compile(pattern);
    if (!regex) {
      return Error{Error::Code::invalid_argument, regex.error().message};
    }
    filter.patterns_.push_back(*std::move(regex));
  }
  return filter;
}

Result<bool> NameFilter::accepts(std::string_view name) const {
  if (std::ranges::binary_search(names_, name)) return true;
  for (const Regex& pattern : patterns_) {
    SMD_TRY(const bool is_found, pattern.search(name));
    if (is_found) return true;
  }
  return false;
}

}  // namespace smdebug
