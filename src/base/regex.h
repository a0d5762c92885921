#pragma once

// Regular expressions with the semantics of Python's `re.search`, by PCRE2 with
// UTF and UCP. `\Z` is the very end, as in Python.

#include <memory>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"

namespace smdebug {

class Regex {
 public:
  // Fails with `invalid_config`, naming the pattern, the position and the
  // reason.
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::string& pattern() const;

  // Returns true if the pattern matches anywhere in `text`. Fails with
  // `unsupported`, naming the pattern, when the searches of this object have
  // used up its budget of steps, about a second; every later search fails at
  // once. Safe to call from several threads.
  Result<bool> search(std::string_view text) const;
  bool has_given_up() const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace smdebug
