#pragma once

// Reports of a session: whether it records, how much it has written, and how
// much time the training spent on it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

// The state of a session and its counts since its first step.
struct SessionStatus {
  // `inactive`: this process does not write the run, see `reason`. `failed`:
  // see `error`.
  enum class State { active, inactive, failed, closed } state = State::active;
  std::optional<Error> error;  // the first one, latched
  std::optional<Step> error_step;
  // The first failure of the TensorBoard files, with its step. The run itself
  // is still written.
  std::optional<Error> tensorboard_error;
  std::string reason;       // why it is inactive, one sentence
  std::string raised;       // what ended the training; known in `close` only
  Step last_step = -1;      // global; -1: none
  std::uint64_t steps = 0;  // begun
  std::uint64_t steps_saved = 0;  // with something due
  std::uint64_t steps_published = 0;
  std::uint64_t tensors = 0;  // captured
  std::uint64_t records = 0;  // written
  std::uint64_t bytes = 0;    // written
  // The number of published steps that `max_run_bytes` removed, and the lowest
  // step that remains; none while nothing was removed.
  std::uint64_t removed_steps = 0;
  std::optional<Step> first_kept_step;
  // Tensors that a later one of the same name and step replaced.
  std::uint64_t replaced_tensors = 0;
  // Lost because the buffer was full (`OverflowPolicy::drop`).
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
  // Scalars noted by another thread than the owner, or for an unknown step.
  std::uint64_t dropped_scalars = 0;
  // Calls that had no effect because the session had failed or was inactive.
  std::uint64_t calls_after_failure = 0;
  // Names of tensors that could not be captured, with the reason.
  std::map<std::string, std::string> skipped;
};

// The overhead since the first step.
struct SessionCost {
  // The owner's time inside calls of the session, waits included.
  double step_thread_seconds = 0;
  double wait_seconds = 0;        // of that, time spent waiting for the writer
  double writer_cpu_seconds = 0;  // CPU time of the write thread
  std::uint64_t bytes_captured = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t steps = 0;  // begun
  double run_seconds = 0;   // wall time since the first step began
};

}  // namespace smdebug
