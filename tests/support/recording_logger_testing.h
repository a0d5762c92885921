#pragma once

// Loggers for tests: one keeps all messages, the other discards them.

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/logger.h"

namespace smdebug {

// Keeps the messages of `lowest` level and above. Safe to use from several
// threads.
class RecordingLogger : public Logger {
 public:
  explicit RecordingLogger(LogLevel lowest = LogLevel::debug)
      : lowest_(lowest) {}

  void log(LogLevel level, std::string_view message) override {
    if (level < lowest_) return;
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(message);
  }

  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // Returns all messages, each followed by a line feed.
  std::string text() const {
    std::string text;
    for (const std::string& line : lines()) text += line + "\n";
    return text;
  }

 private:
  LogLevel lowest_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

class NullLogger : public Logger {
 public:
  void log(LogLevel, std::string_view) override {}
};

}  // namespace smdebug
