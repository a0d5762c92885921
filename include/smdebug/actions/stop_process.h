#pragma once

// Ends a training: asks all of its processes to terminate, and kills those that
// do not.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

struct StopOptions {
  // Time between SIGTERM and SIGKILL, in which the training can publish its
  // last step.
  std::chrono::nanoseconds grace = std::chrono::seconds(10);
  // Returns true if the group has ended. A parent passes a function that also
  // reaps. Empty: looks for processes of the group that have not ended.
  std::function<bool()> has_ended;
  const Clock* clock = nullptr;  // null: system_clock()
};

enum class StopOutcome {
  was_gone,  // no process of the group existed
  ended,     // all ended by themselves after SIGTERM
  killed,    // some remained after the grace period and were killed
  asked,     // it is this process: SIGTERM was sent without waiting
};

// A training process, as recorded in a run.
struct TrainingProcess {
  std::string host;
  std::int64_t process_id = 0;
  // Start time in clock ticks since boot: process ids are reused.
  std::uint64_t start_ticks = 0;
};

/// Ends every process of the group and returns when none is left. Fails with
/// `invalid_argument` for a group that is not positive, `io` if the system
/// refuses, and `unavailable` if a killed process does not exit.
Result<StopOutcome> stop_process_group(std::int64_t group,
                                       const StopOptions& options = {});

/// Same for a process that is not our child: ends its group if it leads one, as
/// processes started by a shell or launcher do, otherwise only the process,
/// because its group may contain others. Fails with `not_found` for a process
/// on another machine, and like `stop_process_group`.
Result<StopOutcome> stop_training_process(const TrainingProcess& process,
                                          const StopOptions& options = {});

}  // namespace smdebug
