#pragma once

// The parts of a finding, the same for all rules: evidence, cause and advice,
// and the numbers, steps and tensors in its message.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/rules/rule.h"
#include "smdebug/rules/verdict.h"

namespace smdebug {

// Two significant digits: "3.2e-09", "0.12".
std::string short_number(double value);

// A number that is not finite: "nan", whatever its sign, "inf", "-inf".
std::string not_finite_text(double value);

// "gradient/Net_fc1.weight", followed by " (worker_3)" for any worker but the
// first.
std::string tensor_text(std::string_view name, std::string_view worker);

// Returns evidence about `observation` at `step`, without number and threshold.
Evidence evidence_of(const Observation& observation, const StepId& step);

// The tensors and the workers behind some observations. A tensor counts once,
// however many workers saved it.
struct TensorCount {
  std::size_t tensors = 0;
  std::size_t workers = 0;
};

TensorCount count_tensors(std::span<const Evidence> evidence);

// Returns "; 3 tensors are zero, on 2 workers" for the clause "3 tensors are
// zero", and "; the same on 2 workers" for one tensor of several workers.
// Leaves out the workers if there is one; empty for one tensor of one worker.
std::string others_text(const TensorCount& found, std::string_view clause);

// Copies the kind, the usual cause, what to try and the severity to `finding`.
void set_advice(Finding& finding, const Advice& advice);

// Fails with `not_found` if a rule that fires after `needed` of something has
// seen only `count`: "nothing to judge: 2 steps are too few; 5 are needed".
Outcome fail_if_too_few(std::int64_t count, std::string_view singular,
                        std::int64_t needed);

// Sorts by the factor by which a value is beyond its threshold, largest first:
// ten times too large is as bad as ten times too small. Thresholds are not
// negative. The order of equals is kept.
void sort_worst_first(std::vector<Evidence>& evidence);

}  // namespace smdebug
