#pragma once

// `NameFilter` selects tensors by name: those that match one of its patterns,
// as Python's `re.search` does, and those that it lists.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

#include "base/regex.h"

namespace smdebug {

class __attribute__((visibility("hidden"))) NameFilter {
 public:
  // Fails with `invalid_argument` for a pattern that does not compile.
  static Result<NameFilter> create(const std::vector<std::string>& patterns,
                                   std::vector<std::string> names = {});

  // Returns whether `name` is selected. Fails as `Regex::search`.
  Result<bool> accepts(std::string_view name) const;

 private:
  std::vector<Regex> patterns_;
  std::vector<std::string> names_;  // sorted
};

}  // namespace smdebug
