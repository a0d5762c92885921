#include "smdebug/actions/action_limits.h"

namespace smdebug {

bool ActionLimits::allow(const ActionRequest& action,
                         const Verdict& verdict) const {
  const bool stops = action.kind == ActionKind::stop;
  if (stops && verdict.stop_training) return true;
  return verdict.severity.value_or(Severity::serious) >=
         (stops ? stop_from : act_from);
}

ActionLimits default_rule_limits() {
  return {Severity::serious, Severity::fatal};
}

}  // namespace smdebug
