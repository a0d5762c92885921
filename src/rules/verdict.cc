#include "smdebug/rules/verdict.h"

namespace smdebug {

std::string_view rule_status_name(RuleStatus status) {
  switch (status) {
    case RuleStatus::in_progress:
      return "InProgress";
    case RuleStatus::no_issues_found:
      return "NoIssuesFound";
    case RuleStatus::issues_found:
      return "IssuesFound";
    case RuleStatus::error:
      return "Error";
    case RuleStatus::stopping:
      return "Stopping";
    case RuleStatus::stopped:
      return "Stopped";
  }
  return "Error";
}

}  // namespace smdebug
