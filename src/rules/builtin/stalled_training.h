#pragma once

// StalledTrainingRule: no step has come for long, so the training hangs.
//
// The time is that of `on_tick`; it starts with the first one, so a training
// that hangs before its first step is found too, and starts anew with every
// step. A clock that is set back starts it anew. A run that nobody watched
// while it was written cannot be judged, and the rule says so.
//
// `stop_training_on_fire` marks the finding, and who watches the training ends
// it: the process that it started itself, so there is no other job that a
// prefix could tell from it. `training_job_name_prefix` is accepted for scripts
// that were written for the cloud.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kStalledTrainingRule;

}  // namespace smdebug
