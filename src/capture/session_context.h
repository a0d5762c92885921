#pragma once

// The state that all parts of a session share: configuration, worker and step
// numbers.

#include <array>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/capture/session.h"
#include "smdebug/core/mode.h"

namespace smdebug {

struct WorkerIdentity {
  int rank = 0;
  std::string name = "worker_0";
  int count = 1;            // of the workers in the run
  bool is_grouped = false;  // with other workers of this process

  bool is_first() const { return rank == 0; }
  // Whether the session of the first worker reports for this process.
  bool reports_via_first_worker() const { return is_grouped && !is_first(); }
};

// The number of the last step, over all modes and of each mode; -1: none yet.
struct StepCounts {
  Step global = -1;
  std::array<Step, kModes.size()> of_mode = {-1, -1, -1, -1};

  friend bool operator==(const StepCounts&, const StepCounts&) = default;
};

// Numbers the steps of a session.
class StepCounter {
 public:
  const StepCounts& counts() const { return counts_; }
  // Continues after `counts`. Call it before the first step.
  void resume(const StepCounts& counts) {
    counts_ = counts;
    current_ = {counts.global, Mode::global, counts.global};
  }

  void set_mode(Mode mode) { mode_ = mode; }
  Mode mode() const { return mode_; }

  // Begins the next step of the current mode.
  const StepId& next() {
    Step& mode_step = counts_.of_mode[mode_index(mode_)];
    ++mode_step;
    ++counts_.global;
    if (mode_ == Mode::global) mode_step = counts_.global;
    current_ = {counts_.global, mode_, mode_step};
    return current_;
  }

  // The step that was begun last; both numbers are -1 before the first.
  const StepId& current() const { return current_; }

 private:
  Mode mode_ = Mode::global;
  StepCounts counts_;
  StepId current_;
};

struct SessionContext {
  HookConfig config;
  const Framework framework;
  const ProcessFacts process;
  const Clock& clock;
  Logger& logger;
  const WaitLimit limit;  // of the training's waits for the storage
  WorkerIdentity worker;
  // If a checkpoint was restored, counting continues after it.
  StepCounter steps;

  // The number of workers that write this run. Readers wait for all of them.
  int num_writers() const {
    return config.include_workers == IncludeWorkers::one ? 1 : worker.count;
  }
};

}  // namespace smdebug
