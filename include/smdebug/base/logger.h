#pragma once

// `Logger` is where smdebug speaks to a person while a training runs. What a
// program should react to is returned as a `Result` or kept in a status; the
// log only repeats it for whoever watches the terminal.

#include <string_view>

namespace smdebug {

// Who should read it: `error`, the user, now; `warning`, the user, when the
// result looks odd; `info`, the user, once a run; `debug`, us.
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

/// Returns the logger of the process, which lives as long as it does. It writes
/// to standard error, from level `info` on, unless the environment says
/// otherwise when it is first asked for: SMDEBUG_LOG_LEVEL, _CONTEXT,
/// _ALL_TO_STDOUT and _PATH.
Logger& default_logger();

}  // namespace smdebug
