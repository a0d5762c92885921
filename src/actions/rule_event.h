#pragma once

// A change of a rule's status in the shape in which the cloud announces it
// (EventBridge's "SageMaker Training Job State Change"), so that a handler
// written for that reads ours.

#include <string>

#include "smdebug/rules/verdict.h"

#include "base/json.h"

namespace smdebug {

// What the cloud says of a status: at most 1024 characters.
std::string status_details(const Verdict& verdict);

// `training_status` is "InProgress", "Completed", "Failed" or "Stopped". The
// job's name is that in the variable TRAINING_JOB_NAME, or the last part of
// the run's location.
Json rule_event(const std::string& run, const Verdict& verdict,
                std::string_view training_status, double wall_seconds);

}  // namespace smdebug
