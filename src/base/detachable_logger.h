#pragma once

// Passes messages on to a logger until that logger is needed no longer, for a
// thread that may outlive it.

#include <mutex>
#include <string_view>

#include "smdebug/base/logger.h"

namespace smdebug {

class DetachableLogger : public Logger {
 public:
  explicit DetachableLogger(Logger& target) : target_(&target) {}

  void log(LogLevel level, std::string_view message) override {
    const std::lock_guard lock(mutex_);
    if (target_ != nullptr) target_->log(level, message);
  }

  // After it returns, the target is not used.
  void detach() {
    const std::lock_guard lock(mutex_);
    target_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Logger* target_;
};

}  // namespace smdebug
