#pragma once

// The conclusions of rules about one or more runs: the output of `smdebug
// check` and `smdebug watch`.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/action_result.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

struct MonitorResult {
  std::string location;
  std::uint64_t steps = 0;            // of the run, as far as they were judged
  std::vector<Verdict> verdicts;      // in the order of the rules
  std::vector<ActionResult> actions;  // in the order in which they began
  std::vector<std::string> reports;   // where the rules' reports are
  std::optional<Error> report_error;  // why a report could not be written
  // Why the run, or a run that it is compared with, could not be read
  // completely.
  std::optional<Error> error;
};

/// Returns a table with a row per run and rule.
std::string monitor_results_text(std::span<const MonitorResult> results);

/// Returns a JSON array with an object per run, indented.
std::string monitor_results_json(std::span<const MonitorResult> results);

}  // namespace smdebug
