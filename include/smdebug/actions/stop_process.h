#pragma once

// The action that ends a training: asks all of its processes to end, and ends
// them when they do not.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

namespace smdebug {

struct StopOptions {
  // Between asking (SIGTERM) and ending (SIGKILL): time to publish the last
  // step.
  std::chrono::nanoseconds grace = std::chrono::seconds(10);
  // Tells whether the group is gone. Its parent passes one that also reaps.
  // Empty: looks for processes of the group that have not ended.
  std::function<bool()> has_ended;
  const Clock* clock = nullptr;  // null: system_clock()
};

enum class StopOutcome {
  was_gone,  // no process of the group was left
  ended,     // all ended by themselves after SIGTERM
  killed,    // some were left after the grace time, and were killed
  asked,     // it is this process: SIGTERM was sent, and nobody waits
};

// A process that trains, as a run names it.
struct TrainingProcess {
  std::string host;
  std::int64_t process_id = 0;
  // When it started, in clock ticks since boot: process ids return.
  std::uint64_t start_ticks = 0;
};

/// Ends every process of the group, and returns when none is left. Fails with
/// `invalid_argument` for a group that is not positive, `io` where the system
/// refuses, and `unavailable` where a killed process does not go away.
Result<StopOutcome> stop_process_group(std::int64_t group,
                                       const StopOptions& options = {});

/// The same for a process that is not our child: its group where it leads one,
/// as what a shell or a launcher starts does; otherwise the process alone, for
/// its group may hold anybody. Fails with `not_found` for a process of another
/// machine, and as `stop_process_group`.
Result<StopOutcome> stop_training_process(const TrainingProcess& process,
                                          const StopOptions& options = {});

}  // namespace smdebug
