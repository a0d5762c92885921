#pragma once

// The overview of a run: identity, contents, overhead and damage. `smdebug
// show`, the summary of `smdebug run` and Python show the same data.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

struct RunOverview {
  struct ModeSteps {
    Mode mode = Mode::global;
    std::uint64_t steps = 0;
    Step first = 0;
    Step last = 0;
  };
  struct CollectionTensors {
    std::string name;
    std::vector<std::string> tensors;  // sorted
  };
  // A loss, from its first saved step to its last.
  struct LossCourse {
    std::string tensor;
    Mode mode = Mode::global;
    std::uint64_t steps = 0;
    double first = 0;
    double last = 0;
  };

  std::string location;
  bool has_ended = false;
  bool was_killed = false;  // its process has exited without an end marker
  // Why the run ended without all of its steps, as on a full disk.
  std::string recording_failure;
  std::uint64_t steps = 0;  // of all modes
  std::vector<ModeSteps> modes;
  std::vector<std::string> workers;
  std::uint64_t tensors = 0;
  std::vector<CollectionTensors> collections;  // those that hold tensors
  std::vector<LossCourse> losses;
  std::uint64_t bytes = 0;
  std::string framework;  // empty: unknown
  std::uint64_t attempts = 0;
  std::optional<Attempt> attempt;  // the newest; runs of the original have none
  // Those whose steps the newest attempt does not continue are runs of their
  // own.
  std::vector<Attempt> earlier_attempts;
  std::uint64_t dropped_tensors = 0;
  std::vector<Damage> damage;
  // Statuses that monitors keep beside the run. `read_run_overview` does not
  // read them; the caller adds them (actions).
  std::vector<RecordedStatus> rules;
};

/// Reads the overview. Fails with `io`; damage is part of the result.
Result<RunOverview> read_run_overview(Trial& trial);

/// Returns why the run ended without all of its steps, as on a full disk; empty
/// if it has all of them, or has not ended.
std::string recording_failure(Trial& trial);

struct LatestLoss {
  double value = 0;
  Mode mode = Mode::train;  // of its step
};

/// Returns the newest saved value of the first loss, by name, that is a single
/// number; none if there is no such loss. Reads the index only.
std::optional<LatestLoss> latest_loss(Trial& trial);

/// Returns the overview as lines for a terminal.
std::string run_overview_text(const RunOverview& overview);

/// Returns the overview as a JSON object, indented.
std::string run_overview_json(const RunOverview& overview);

/// Returns "12 ms in 340 steps, 0.4 % of the 3 s since its first step", without
/// a share for less than a second; nothing if the run does not record its
/// overhead.
std::string cost_text(const RunOverview& overview);

/// Returns a line of Python that opens the run, without a line feed.
std::string python_line(const RunOverview& overview);

}  // namespace smdebug
