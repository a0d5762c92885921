#pragma once

// Where several rules fire, most of them see what one of them saw first. A
// report lists verdicts in that order, and names the first as the likely cause.

#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/verdict.h"

namespace smdebug {

/// Returns the verdicts as a report lists them: first those that fired, by
/// step and, within a step, by the place of the first offender in the order of
/// execution; then the others, in the order given.
std::vector<Verdict> in_order_of_cause(std::span<const Verdict> verdicts);

/// Returns the first of the verdicts that fired, in that order; null where
/// fewer than two did. Points into `verdicts`.
const Verdict* likely_cause(std::span<const Verdict> verdicts);

/// Returns one sentence that names it, with the tensor that showed it first:
/// "ExplodingTensor at step 40, in Net_fc1.weight, the first of 3 rules that
/// fired"; empty where there is none.
std::string likely_cause_text(std::span<const Verdict> verdicts);

}  // namespace smdebug
