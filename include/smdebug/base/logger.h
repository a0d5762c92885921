#pragma once

// `Logger` reports to the user while a training runs. Results that a program
// should react to are returned as a `Result` or kept in a status; the log only
// repeats them for the terminal.

#include <string_view>

namespace smdebug {

// The audience: `error`, the user, now; `warning`, the user, if the result
// looks odd; `info`, the user, once per run; `debug`, developers.
enum class LogLevel { debug, info, warning, error, off };

class Logger {
 public:
  virtual ~Logger() = default;

  /// Writes one line. Never fails, never throws, safe from several threads.
  virtual void log(LogLevel level, std::string_view message) = 0;

  void debug(std::string_view message) { log(LogLevel::debug, message); }
  void info(std::string_view message) { log(LogLevel::info, message); }
  void warning(std::string_view message) { log(LogLevel::warning, message); }
  void error(std::string_view message) { log(LogLevel::error, message); }
};

/// Returns the logger of the process, which lives as long as the process. It
/// writes to standard error from level `info`, unless the environment sets
/// something else at the first call: SMDEBUG_LOG_LEVEL, _CONTEXT,
/// _ALL_TO_STDOUT and _PATH.
Logger& default_logger();

}  // namespace smdebug
