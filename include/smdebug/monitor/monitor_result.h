#pragma once

// The conclusions of rules about one or more runs, and the exit code that they
// imply: the output of `smdebug check` and `smdebug watch`, and the summary of
// trainer callbacks.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/read/trial.h"
#include "smdebug/report/run_summary.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

struct MonitorResult {
  std::string location;
  std::uint64_t steps = 0;            // steps of the run that were judged
  std::vector<Verdict> verdicts;      // in the order of the rules
  std::vector<ActionResult> actions;  // in the order in which they began
  std::vector<std::string> reports;   // the paths of the rules' reports
  std::vector<Damage> damage;         // of the files of the run
  // Why the run has ended without all of its steps, as on a full disk; empty if
  // it has them.
  std::string recording_failure;
  std::optional<Error> report_error;  // why a report could not be written
  // Why the run, or a run that it is compared with, could not be read
  // completely.
  std::optional<Error> error;
};

// The exit codes of `smdebug`, and of a training that a rule of its own hook
// ends: never renumber.
inline constexpr int kExitNothingFound = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRuleFired = 3;

/// Returns `kExitRuleFired` if a rule fired, `kExitError` if an error ended
/// one, else `kExitNothingFound`. `asked`: the user named the rules. Otherwise
/// advice does not count as a rule that fired, and a rule that found nothing to
/// judge is not a failure if another one judged.
int exit_code(std::span<const Verdict> verdicts, bool asked);

/// Returns the same of a result: also `kExitError` if the run could not be
/// read, or if no rule fired but damage hides a part of the run.
int exit_code(const MonitorResult& result, bool asked);

/// Returns the summary of a training that was judged while it ran: `result` is
/// that of `RunMonitor::finish`, and `trial` its run, which is null if there
/// was none. The caller adds how the training ended.
RunSummary summarize(const MonitorResult& result, Trial* trial);

/// Returns a table with a row per run and rule, without runs that could not be
/// read; `MonitorResult::error` of those is for the caller.
/// `are_default_rules`: the user did not name the rules, so those that could
/// not judge a run share a line below the table. With `Detail::quiet` the table
/// has only findings and problems; with `Detail::verbose` every rule, and the
/// evidence of the findings follows.
std::string monitor_results_text(std::span<const MonitorResult> results,
                                 bool are_default_rules = false,
                                 Detail detail = Detail::normal);

/// Returns a JSON array with an object per run, indented.
std::string monitor_results_json(std::span<const MonitorResult> results);

}  // namespace smdebug
