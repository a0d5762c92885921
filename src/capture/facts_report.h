#pragma once

// The facts that the adapter reported last: written beside the steps, and shown
// to the observer of the running step. The owner's thread.

#include <optional>

#include "smdebug/core/run_facts.h"

#include "capture/capture_sink.h"
#include "capture/run_lifecycle.h"
#include "capture/session_context.h"

namespace smdebug {

class FactsReport {
 public:
  // All arguments must outlive this.
  FactsReport(SessionContext& context, RunLifecycle& run, CaptureSink& sink);

  // Facts that equal the last ones are not written again.
  void set(RunFacts facts);

  // Call when a step has begun: writes facts that waited for the first one.
  void publish_waiting() {
    if (is_waiting_) publish();
  }

  // Shows a new observer the facts that hold now.
  void show();

 private:
  void publish();

  SessionContext& context_;
  RunLifecycle& run_;
  CaptureSink& sink_;
  std::optional<RunFacts> facts_;
  bool is_waiting_ = false;
};

}  // namespace smdebug
