#pragma once

// The output streams of a sub-command, and the hooks of the surrounding
// program. Answers go to `out`; verdicts of a running training, progress and
// errors go to `err`.

#include <chrono>
#include <istream>
#include <ostream>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/cli/main.h"
#include "smdebug/monitor/monitor_result.h"
#include "smdebug/report/run_summary.h"

namespace smdebug {

struct Console {
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  const CliHooks& hooks;
  bool err_is_terminal = false;
  // Where a person answers questions; null if standard input is no terminal.
  std::istream* answers = nullptr;

  // Prints `error` and returns the exit code: `kExitUsage` for a wrong
  // argument, otherwise `kExitError`.
  int fail(const Error& error) const;
};

// The status of an operation that takes more than a second. Silent with
// `Detail::quiet`.
class Progress {
 public:
  enum class Style {
    // On a terminal, one line that is updated in place and removed at the end.
    // Otherwise as `lines`.
    own_terminal,
    // Lines at intervals that grow: another program writes to the same
    // terminal, and a line without an end would mix with its output.
    lines,
  };

  explicit Progress(const Console& console, Detail detail = Detail::normal,
                    Style style = Style::own_terminal);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Whether the status is one line that is updated.
  bool is_in_place() const { return is_in_place_; }
  // Whether `say` prints now; otherwise its text need not be made.
  bool is_due() const;
  // Prints `text`, made safe to print, if it is due.
  void say(const std::string& text);
  // Removes the line, before something else is printed.
  void clear();

 private:
  const Console& console_;
  const bool is_quiet_;
  const bool is_in_place_;
  std::chrono::nanoseconds next_;
  std::chrono::nanoseconds interval_;  // between the last two lines
  bool is_shown_ = false;
};

}  // namespace smdebug
