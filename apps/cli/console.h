#pragma once

// Where a sub-command speaks, and what it is given by the surrounding program.
// Answers go to `out`; verdicts while a training runs, progress and errors go
// to `err`.

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

  // Says `error` as the command's last word, and returns the exit code: what
  // the user asked for makes no sense, or it could not be done.
  int fail(const Error& error) const;
};

// One line that tells how far something has come, for what takes more than a
// second. On a terminal the line is written anew and at last removed;
// elsewhere one is printed now and then.
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
