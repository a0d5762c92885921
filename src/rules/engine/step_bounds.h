#pragma once

// The parameters `start_step` and `end_step`, which every rule accepts: a rule
// sees only global steps in [start_step, end_step).

#include <memory>

#include "smdebug/rules/parameters.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

// Two rows of every rule's table.
inline const ParameterSpec kStartStep = {
    .name = "start_step",
    .type = ParameterType::integer,
    .default_text = "",
    .description = "Steps before this one are not judged.",
    .minimum = 0.0};
inline const ParameterSpec kEndStep = {
    .name = "end_step",
    .type = ParameterType::integer,
    .default_text = "",
    .description = "This step and those after it are not judged.",
    .minimum = 0.0};

// Returns `rule` as it is, or behind the bounds that `parameters` give. Where
// `start_step` is the rule's own, it bounds nothing.
std::unique_ptr<Rule> within_step_bounds(std::unique_ptr<Rule> rule,
                                         const Parameters& parameters,
                                         bool has_own_start_step);

}  // namespace smdebug
