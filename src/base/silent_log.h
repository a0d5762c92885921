#pragma once

// A log of tests that nobody reads.

#include <string_view>

#include "smdebug/base/logger.h"

namespace smdebug {

class SilentLog : public Logger {
 public:
  void log(LogLevel, std::string_view) override {}
};

}  // namespace smdebug
