#pragma once

// The summary of a training that has ended: the end of `smdebug run` and
// `watch`, and of the log of trainer callbacks.

#include <optional>
#include <string>
#include <vector>

#include "smdebug/report/run_overview.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

// How much a command prints: findings and problems only, the usual, or
// everything.
enum class Detail { quiet, normal, verbose };

// Another model of the same script, which has a run of its own.
struct OtherModel {
  std::string location;
  std::string outcome;  // "nothing found"
};

struct RunSummary {
  Detail detail = Detail::normal;
  std::vector<std::string> command;
  double seconds = 0;  // from start to end
  // How the training ended: its exit code, or the signal that ended it.
  int exit_code = 0;
  std::optional<int> signal;
  std::string stopped_by;        // the rule whose verdict ended it; empty: none
  bool was_interrupted = false;  // by the user
  // How the training ended, if another program started it. Empty: what the
  // members above say.
  std::string ending = {};
  std::string location;                 // where the run is, or would have been
  std::optional<RunOverview> overview;  // none: nothing was recorded
  std::string cost = {};  // of the recording; empty: as the run records it
  std::string problem;    // why nothing was recorded, or another problem
  std::vector<Verdict> verdicts;
  // The rules are the default set: those that do not apply are left out.
  bool has_default_rules = false;
  std::vector<ActionResult> actions;          // of all models
  std::vector<OtherModel> other_models = {};  // in the order of training
  // The lines that were printed while the training ran, which shorten the text.
  std::size_t lines_before = 0;
};

/// Returns why a run lacks steps, one sentence; empty if it has all of them.
std::string recording_problem(const RunOverview& overview);

/// Returns at most ten lines, or twelve if a rule fired; fewer, but at least
/// six, if `lines_before` would make it more than eleven together; with
/// `Detail::verbose` as many as it takes, with `Detail::quiet` none if there is
/// nothing to report.
std::string run_summary_text(const RunSummary& summary);
/// Returns the same without the name of the program, for a log that adds it.
std::string summary_text(const RunSummary& summary);
std::string run_summary_json(const RunSummary& summary);

}  // namespace smdebug
