#pragma once

// The output streams of a sub-command, and the hooks of the surrounding
// program. Answers go to `out`; verdicts of a running training, progress and
// errors go to `err`.

#include <chrono>
#include <ostream>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/cli/main.h"
#include "smdebug/monitor/monitor_result.h"

namespace smdebug {

struct Console {
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  const CliHooks& hooks;
  bool err_is_terminal = false;

  // Prints `error` and returns the exit code: `kExitUsage` for a wrong
  // argument, otherwise `kExitError`.
  int fail(const Error& error) const;
};

// A progress line for operations that take more than a second. On a terminal
// the line is updated in place and removed at the end; elsewhere a line is
// printed from time to time.
class Progress {
 public:
  explicit Progress(const Console& console);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(const std::string& text);
  // Removes the line, before something else is printed.
  void clear();

 private:
  const Console& console_;
  std::chrono::nanoseconds next_;
  bool is_shown_ = false;
};

}  // namespace smdebug
