#pragma once

// Reports of a session: whether it records, how much it has written, and its
// overhead.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

namespace smdebug {

// For `hook.status()` and the run's summary.
struct SessionStatus {
  // `inactive`: another process writes this run, see `reason`. `failed`: see
  // `error`.
  enum class State { active, inactive, failed, closed } state = State::active;
  std::optional<Error> error;  // the first one
  std::optional<Step> error_step;
  // The first failure of the TensorBoard files, with its step. The run itself
  // is still written.
  std::optional<Error> tensorboard_error;
  std::string reason;  // why it is inactive, one sentence
  Step last_step = -1;
  std::uint64_t steps = 0;        // begun
  std::uint64_t steps_saved = 0;  // with something due
  std::uint64_t steps_published = 0;
  std::uint64_t tensors = 0;  // captured
  std::uint64_t records = 0;  // written
  std::uint64_t bytes = 0;    // written
  // Published steps that `max_run_bytes` removed, and the lowest step that is
  // left; none while nothing was removed.
  std::uint64_t removed_steps = 0;
  std::optional<Step> first_kept_step;
  // Written tensors that a later one of the same name and step replaced.
  std::uint64_t replaced_tensors = 0;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
  std::uint64_t calls_after_failure = 0;
  // Tensors that could not be read, with the reason.
  std::map<std::string, std::string> skipped;
};

// The overhead so far.
struct SessionCost {
  double step_thread_seconds = 0;  // inside our calls, waits included
  double wait_seconds = 0;         // of that, waiting for the writer
  double writer_cpu_seconds = 0;
  std::uint64_t bytes_captured = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t steps = 0;
  double run_seconds = 0;  // since the first step began
};

}  // namespace smdebug
