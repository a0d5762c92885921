#pragma once

// `Wait` is the one way in which a trial waits: for a run, a step or a file. It
// polls ten times a second, logs a reminder every 10 s, and ends when its
// timeout passes or the caller's `check_interrupt` asks to stop.

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "smdebug/read/trial.h"

namespace smdebug {

class Wait {
 public:
  // The timeout starts now; none waits forever. `options`, with a clock and a
  // logger, must outlive this.
  Wait(const TrialOptions& options,
       std::optional<std::chrono::nanoseconds> timeout);

  bool is_over() const;

  // Sleeps until the next poll. Every 10 s, logs that it is still waiting for
  // `what`. Fails with `interrupted`.
  Status pause(std::string_view what);

 private:
  const TrialOptions& options_;
  std::chrono::nanoseconds start_;
  std::optional<std::chrono::nanoseconds> timeout_;
  std::chrono::nanoseconds next_reminder_;
};

// Sleeps for `duration`, in short pieces if there is a `check_interrupt` to ask
// between them. Fails with `interrupted`.
Status sleep_for(std::chrono::nanoseconds duration, const Clock& clock,
                 const std::function<bool()>& check_interrupt);

}  // namespace smdebug
