#include "read/name_filter.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/try.h"
#include "smdebug/read/trial.h"

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

Result<std::vector<std::string>> find_names(
    std::vector<std::string> names, const std::vector<std::string>& patterns) {
  SMD_TRY(const NameFilter filter, NameFilter::create(patterns));
  std::vector<std::string> found;
  for (std::string& name : names) {
    SMD_TRY(const bool is_accepted, filter.accepts(name));
    if (is_accepted) found.push_back(std::move(name));
  }
  return found;
}

}  // namespace smdebug
