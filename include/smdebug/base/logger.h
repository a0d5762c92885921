#pragma once

// `Logger` reports to the user while a training runs. Results that a program
// should react to are returned as a `Result` or kept in a status; the log only
// repeats them for the terminal.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] smdebug {

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

struct LogSettings {
  // SMDEBUG_LOG_LEVEL: debug, info, warning, error, critical or off.
  LogLevel level = LogLevel::info;
  // SMDEBUG_LOG_CONTEXT: a text in each line. None: no text on the terminal,
  // and "<host>:<process id>" in the file.
  std::optional<std::string> context;
  // SMDEBUG_LOG_ALL_TO_STDOUT: true sends every line to standard output; false
  // sends errors to standard error and all other lines to standard output.
  // None: standard error, which does not mix with the output of the program.
  std::optional<bool> all_to_stdout;
  // SMDEBUG_LOG_PATH: a file that also receives each line.
  std::optional<std::string> path;
  // Messages about variables that are not valid.
  std::vector<std::string> mistakes;

  /// Reads the settings from these environment variables.
  static LogSettings from_environment();
};

/// Returns a logger that begins with `settings.mistakes` as warnings. A file
/// that cannot be written also causes a warning.
std::unique_ptr<Logger> make_logger(const LogSettings& settings);

/// Returns the logger of the process, which lives as long as the process. It
/// uses the settings of the environment at the first call; by default, it
/// writes to standard error from level `info`.
Logger& default_logger();

}  // namespace smdebug
