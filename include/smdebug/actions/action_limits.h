#pragma once

// The findings that actions react to. A rule that the user named acts on
// whatever it finds; the rules that smdebug chose must not end a healthy
// training.

#include "smdebug/actions/action_request.h"
#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

// The least severe findings that actions react to. A rule that the user asked
// to end the training (`Verdict::stop_training`) always stops it.
struct ActionLimits {
  Severity act_from = Severity::advice;
  Severity stop_from = Severity::advice;  // for the action `stop`

  bool allow(const ActionRequest& action, const Verdict& verdict) const;
};

/// Returns the limits for rules that the user did not name: no action reacts to
/// advice, and only fatal findings stop the training.
ActionLimits default_rule_limits();

}  // namespace smdebug
