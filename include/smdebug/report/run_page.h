#pragma once

// The page of a run: what it is, what it holds, what it cost, what is broken.
// `smdebug show`, the summary of `smdebug run` and Python show the same.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/recorded_status.h"

namespace smdebug {

struct RunPage {
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
  // The newest attempt of `run.json`; a run of the original has none.
  struct Attempt {
    std::string host;
    std::int64_t process_id = 0;
    double started_seconds = 0;
    std::optional<double> ended_seconds;
    std::vector<std::string> command;
    std::map<std::string, std::string> versions;
    std::string status;
    std::map<std::string, double> cost;
  };

  std::string location;
  bool has_ended = false;
  std::uint64_t steps = 0;  // of all modes
  std::vector<ModeSteps> modes;
  std::vector<std::string> workers;
  std::uint64_t tensors = 0;
  std::vector<CollectionTensors> collections;  // those that hold tensors
  std::vector<LossCourse> losses;
  std::uint64_t bytes = 0;
  std::string framework;  // empty: unknown
  std::uint64_t attempts = 0;
  std::optional<Attempt> attempt;
  std::uint64_t dropped_tensors = 0;
  std::vector<Damage> damage;
  // What watches and rules inside the step keep beside the run. Not read by
  // `read_run_page`: whoever shows the page adds them (actions).
  std::vector<RecordedStatus> rules;
};

/// Reads what the page shows. Fails with `io`; damage is part of the page.
Result<RunPage> read_run_page(Trial& trial);

/// Returns the page as lines for a terminal.
std::string run_page_text(const RunPage& page);

/// Returns the page as a JSON object, indented.
std::string run_page_json(const RunPage& page);

/// Returns "12 ms in 340 steps, 0.4 % of the training", or nothing where the
/// run does not say what it cost.
std::string cost_text(const RunPage& page);

/// Returns the two lines of Python that open the run.
std::string python_lines(const RunPage& page);

}  // namespace smdebug
