#pragma once

// The exit codes of `smdebug`, and of a training that a rule of its own hook
// ends: never renumber.

#include <span>

#include "smdebug/rules/verdict.h"

namespace smdebug {

inline constexpr int kExitNothingFound = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRuleFired = 3;

/// Returns the exit code that `verdicts` stand for: `kExitRuleFired` if a rule
/// fired, `kExitError` if one failed. `asked`: the user named the rules. A
/// rule of the default set that found nothing to judge is no failure as long
/// as another one judged.
int exit_code(std::span<const Verdict> verdicts, bool asked);

}  // namespace smdebug
