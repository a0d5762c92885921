#pragma once

// If several rules fire, most of them see the consequences of one cause.
// Reports list verdicts in that order and name the first as the likely cause.

#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/verdict.h"

namespace smdebug {

/// Returns the verdicts in the order of a report: first those that fired, with
/// faults of the data before mistakes in the script, such as
/// ParametersNotTrained, those before all others, and advice behind all others.
/// Advice on the scale of the data becomes a warning if something went wrong
/// that it can explain. Within these, they are in the order of their steps
/// and, within a step, by how near to the mistake the rule looks and by the
/// position of the first offender in the order of execution. Then the verdicts
/// that did not fire, in the given order.
std::vector<Verdict> in_order_of_cause(std::span<const Verdict> verdicts);

/// Returns the first of the verdicts that fired, in that order; null if fewer
/// than two did. Other advice is no cause. Points into `verdicts`.
const Verdict* likely_cause(std::span<const Verdict> verdicts);

/// Returns one sentence that names it and the first tensor with the problem:
/// "ExplodingTensor at step 40, in Net_fc1.weight, the first of 3 rules that
/// fired"; empty if there is none.
std::string likely_cause_text(std::span<const Verdict> verdicts);

}  // namespace smdebug
