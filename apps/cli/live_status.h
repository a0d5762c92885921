#pragma once

// The live output of `smdebug run` and `watch`: a status line, and each verdict
// when it comes.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/monitor/run_monitor.h"
#include "smdebug/report/live_text.h"

#include "console.h"

namespace smdebug {

class LiveOutput {
 public:
  LiveOutput(const Console& console, Detail detail, Progress::Style style)
      : console_(console), detail_(detail), progress_(console, detail, style) {}

  // Call before another run is judged, whose findings have causes of their own.
  void begin_run() { findings_.clear(); }

  // Call after each step that was judged.
  void note_step(const StepId& step) { status_.step = step.global; }

  // Prints the status if it is due. `context` precedes it; empty: nothing.
  void show(RunMonitor& monitor, const std::string& context);

  // Shows that the program waits, where that takes no further line: `note` has
  // said it already.
  void show_waiting(const std::string& text) {
    if (progress_.is_in_place()) progress_.say(text);
  }

  // Prints a verdict at once if a rule failed, or if it fired and the text of
  // its finding is not empty.
  void print(const Verdict& verdict);

  // Prints a line at once, unless it is empty or the user asked for quiet.
  void note(const std::string& text);

  // The lines that were printed and may still be on the screen.
  std::size_t lines() const { return lines_; }

  // Removes the status, before something else is printed.
  void clear() { progress_.clear(); }

 private:
  void print_failure(const Verdict& verdict);
  void measure_speed();
  // Whether a line would tell more than the one before. A line that is
  // rewritten in place always does: it shows that the program works.
  bool has_news(const RunMonitor& monitor);

  const Console& console_;
  const Detail detail_;
  Progress progress_;
  std::vector<Verdict> findings_;  // of the run, in their order
  std::size_t lines_ = 0;
  std::size_t statuses_ = 0;
  LiveStatus status_;
  Step shown_step_ = -1;
  std::size_t shown_fired_ = 0;
  // The step and the time of the previous measurement.
  Step measured_step_ = -1;
  std::chrono::nanoseconds measured_at_{0};
};

}  // namespace smdebug
