#pragma once

// What rules said of one run, or of many: the answer of `smdebug check` and
// `smdebug watch`.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/action_result.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

struct JudgedRun {
  std::string location;
  std::uint64_t steps = 0;
  std::vector<Verdict> verdicts;
  std::vector<ActionResult> actions;
  std::optional<Error> error;  // why the run could not be read
};

/// Returns a table with a row per run and rule.
std::string judged_runs_text(std::span<const JudgedRun> runs);

/// Returns a JSON array with an object per run, indented.
std::string judged_runs_json(std::span<const JudgedRun> runs);

}  // namespace smdebug
