#pragma once

// Time comes from a `Clock`, never from the system directly, so that tests
// control it. Two kinds of time are needed. Wall time dates a record and is
// written to files; it may jump. Monotonic time measures durations and is never
// written.

#include <chrono>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] smdebug {

class Clock {
 public:
  virtual ~Clock() = default;

  /// Returns seconds since the Unix epoch. Safe to call from several threads.
  virtual double wall_seconds() const = 0;

  /// Returns a time that never goes backward, counted from an arbitrary start.
  /// Safe to call from several threads.
  virtual std::chrono::nanoseconds monotonic() const = 0;

  /// Waits for `duration`. The clock of a test advances its time instead.
  virtual void sleep_for(std::chrono::nanoseconds duration) const = 0;
};

/// Returns the clock of this machine. It lives as long as the process.
const Clock& system_clock();

inline constexpr std::string_view kIsoTime = "%Y-%m-%dT%H:%M:%SZ";

/// Formats a time in seconds since the Unix epoch, rounded down, in UTC.
/// `pattern` is that of strftime. Times before 1970 or after the year 9999 are
/// replaced by the nearest time in between.
std::string utc_text(double wall_seconds, std::string_view pattern = kIsoTime);

}  // namespace smdebug
