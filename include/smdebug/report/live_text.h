#pragma once

// The output of a command that judges a running training: a line at the start,
// a status line, and each finding when it comes.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "smdebug/core/mode.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

struct LiveStatus {
  Step step = -1;  // the newest step judged; -1: none yet
  std::optional<double> steps_per_second;
  std::optional<LatestLoss> loss;
  Step lag_steps = 0;  // saved steps that are not judged yet
  double lag_seconds = 0;
};

/// Returns "recording to '/runs/a', 11 rules".
std::string start_text(const std::string& location,
                       std::span<const Verdict> verdicts);

/// Returns "step 340, 12 steps/s, loss 0.4321, 10 rules, DeadRelu fired", on
/// one line without a line feed.
std::string status_text(const LiveStatus& status,
                        std::span<const Verdict> verdicts);

/// Returns a finding when it comes, with its advice on a second line.
/// `earlier`: the findings of the run before it. The second finding that none
/// of them explains has one line. Those after it, and those that one of them
/// explains, have none: the status and the summary name them. Each line ends
/// with a line feed.
std::string finding_text(const Verdict& finding,
                         std::span<const Verdict> earlier);

}  // namespace smdebug
