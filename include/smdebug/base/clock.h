#pragma once

// Time comes from a `Clock`, never from the system directly: a test holds the
// clock in its hand. Two kinds of time are needed. Wall time says when a
// record was made, and is written to files; it may jump. Monotonic time
// measures how long something took, and is never written.

#include <chrono>

namespace smdebug {

class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns seconds since the Unix epoch. Safe to call from several threads.
  virtual double wall_seconds() const = 0;

  /// Returns a time that never goes back, counted from an arbitrary start.
  /// Safe to call from several threads.
  virtual std::chrono::nanoseconds monotonic() const = 0;

  /// Waits for `duration`. A test's clock moves itself forward instead.
  virtual void sleep_for(std::chrono::nanoseconds duration) const = 0;
};

/// Returns the clock of this machine. It lives as long as the process.
const Clock& system_clock();

}  // namespace smdebug
