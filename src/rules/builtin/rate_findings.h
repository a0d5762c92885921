#pragma once

// The parts that the findings of LearningRate share.

#include <string>
#include <string_view>

#include "rules/builtin/rate_faults.h"

namespace smdebug {

// The name of the loss, with the worker unless it is the first.
std::string loss_text(const UpdateHistory& history);

// Adds the cause of a fault, and evidence at a step.
void add_rate_evidence(Finding& finding, RateFault fault,
                       const UpdateHistory& history, const StepId& step);

// The beginning of a finding: "the learning rate of Adam is 1e-05".
Finding describe_rate(RateFault fault, const UpdateHistory& history,
                      const FollowedUpdate& update);

// Fills in the numbers of the first evidence.
void set_rate_numbers(Finding& finding, std::string_view quantity, double value,
                      std::string_view relation, double threshold);

// Whether the learning rate has risen since half the steps.
bool is_rate_rising(const UpdateHistory& history);

}  // namespace smdebug
