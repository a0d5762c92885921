#pragma once

// The state that all parts of a session share: configuration, worker, and
// how far the training is.

#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/capture/session.h"

#include "capture/step_counter.h"

namespace smdebug {

struct WorkerIdentity {
  int rank = 0;
  std::string name = "worker_0";
  int count = 1;            // of the workers in the run
  bool is_grouped = false;  // with other workers of this process

  bool is_first() const { return rank == 0; }
  // The first worker's session reports what concerns the whole process.
  bool reports_via_first_worker() const { return is_grouped && !is_first(); }
};

struct SessionContext {
  HookConfig config;
  const Framework framework;
  const ProcessFacts process;
  const Clock& clock;
  Logger& logger;
  WorkerIdentity worker;
  // If a checkpoint was restored, counting continues after it.
  StepCounter steps;

  // How many processes write this run: so many its readers wait for.
  int num_writers() const {
    return config.include_workers == IncludeWorkers::one ? 1 : worker.count;
  }
};

}  // namespace smdebug
