#pragma once

// The progress of a run, small enough to be read for each of a thousand runs:
// `progress.json` (docs/format.md). The session of the first worker writes it,
// and `smdebug ls` shows it.

#include <cstdint>
#include <string>
#include <vector>

#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

struct RunProgress {
  // The saved steps of a mode.
  struct ModeSteps {
    Mode mode = Mode::global;
    std::uint64_t steps = 0;
    Step last = -1;  // in the count of the mode
  };
  // The last saved value of a tensor of the collection `losses`: its mean if it
  // has several elements.
  struct Loss {
    std::string tensor;
    Mode mode = Mode::global;
    Step step = -1;  // global
    double value = 0;
  };

  bool has_ended = false;
  std::string error;  // the first error of the session; empty: none
  // The exception that ended the training, as "ValueError"; empty: none did.
  std::string raised;
  std::string framework;
  std::uint64_t attempt = 1;
  int workers = 1;
  // The process that writes the file.
  std::string host;
  std::int64_t process_id = 0;
  std::uint64_t start_ticks = 0;  // when it started, in clock ticks since boot
  double started_seconds = 0;     // the attempt; since the epoch
  double written_seconds = 0;     // this file

  // Counts of this attempt and of the worker that writes the file.
  std::uint64_t steps = 0;  // saved, over all modes
  Step last_step = -1;      // the last saved step, global; -1: none yet
  std::vector<ModeSteps> modes;
  std::vector<Loss> losses;  // sorted by tensor and mode
  std::uint64_t bytes = 0;   // written
  std::uint64_t removed_steps = 0;
  std::uint64_t replaced_tensors = 0;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
};

}  // namespace smdebug
