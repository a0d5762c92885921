#pragma once

// What the environment says about the log, and a logger that follows it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/logger.h"

namespace smdebug {

struct LogSettings {
  // SMDEBUG_LOG_LEVEL: debug, info, warning, error, critical or off.
  LogLevel level = LogLevel::info;
  // SMDEBUG_LOG_CONTEXT: stands in each line. None: nothing on the terminal,
  // "<host>:<process id>" in the file.
  std::optional<std::string> context;
  // SMDEBUG_LOG_ALL_TO_STDOUT: true sends every line to standard output, false
  // all but errors. None: standard error, so that what a program prints stays
  // its own.
  std::optional<bool> all_to_stdout;
  // SMDEBUG_LOG_PATH: a file that each line is added to as well.
  std::optional<std::string> path;
  // What in the environment was not understood, one sentence each.
  std::vector<std::string> mistakes;

  static LogSettings from_environment();
};

// The logger says `settings.mistakes` first. A file that cannot be written is
// a warning.
std::unique_ptr<Logger> make_logger(const LogSettings& settings);

}  // namespace smdebug
