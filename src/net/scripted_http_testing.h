#pragma once

// For tests: an `HttpClient` that records requests and returns responses from a
// list, and environment variables that are restored at the end of a scope.

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "net/http.h"

namespace smdebug {

class ScriptedHttp : public HttpClient {
 public:
  explicit ScriptedHttp(std::vector<Result<HttpResponse>> answers = {})
      : answers_(std::move(answers)) {}

  // Without a response in the list, fails as if there were no server.
  Result<HttpResponse> send(const HttpRequest& request) const override {
    const std::lock_guard lock(mutex_);
    const std::size_t i = requests_.size();
    requests_.push_back(request);
    if (i < answers_.size()) return answers_[i];
    return Error{Error::Code::unavailable, "nobody answers"};
  }

  const std::vector<HttpRequest>& requests() const { return requests_; }

 private:
  std::vector<Result<HttpResponse>> answers_;
  mutable std::mutex mutex_;
  mutable std::vector<HttpRequest> requests_;
};

// Sets an environment variable for the lifetime of this object; null unsets it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value)
      : name_(name), before_(environment_variable(name)) {
    set(value);
  }
  ~ScopedVariable() { set(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) const {
    if (value) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace smdebug
