#pragma once

// Regular expressions with the meaning of Python's `re.search`: PCRE2 with
// UTF and UCP, `\Z` as the very end. Compiled once, searched often.

#include <memory>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"

namespace smdebug {

class Regex {
 public:
  // Fails with `invalid_config`: the pattern, the position and why.
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::string& pattern() const;

  // True if the pattern is found anywhere in `text`. Fails with
  // `unsupported`, naming the pattern, where the search hits the match limit.
  // Safe from several threads.
  Result<bool> search(std::string_view text) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace smdebug
