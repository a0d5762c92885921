#pragma once

// The action that ends a training: asks all of its processes to end, and ends
// them when they do not.

#include <chrono>
#include <cstdint>
#include <functional>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

namespace smdebug {

struct StopOptions {
  // Between asking (SIGTERM) and ending (SIGKILL): time to publish the last
  // step.
  std::chrono::nanoseconds grace = std::chrono::seconds(10);
  // Tells whether the group is gone. Its parent passes one that also reaps: a
  // child that ended stays in its group until then. Empty: asks the system.
  std::function<bool()> has_ended;
  const Clock* clock = nullptr;  // null: system_clock()
};

enum class StopOutcome {
  was_gone,  // no process of the group was left
  ended,     // all ended by themselves after SIGTERM
  killed,    // some were left after the grace time, and were killed
};

/// Ends every process of the group, and returns when none is left. Fails with
/// `invalid_argument` for a group that is not positive, `io` where the system
/// refuses, and `unavailable` where a killed process does not go away.
Result<StopOutcome> stop_process_group(std::int64_t group,
                                       const StopOptions& options = {});

}  // namespace smdebug
