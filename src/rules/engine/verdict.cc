#include "smdebug/rules/verdict.h"

namespace smdebug {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::advice:
      return "advice";
    case Severity::serious:
      return "serious";
    case Severity::fatal:
      return "fatal";
  }
  return "";
}

std::optional<Severity> find_severity(std::string_view name) {
  for (const Severity severity :
       {Severity::advice, Severity::serious, Severity::fatal}) {
    if (severity_name(severity) == name) return severity;
  }
  return std::nullopt;
}

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

std::string_view action_status_name(ActionStatus status) {
  switch (status) {
    case ActionStatus::begun:
      return "begun";
    case ActionStatus::done:
      return "done";
    case ActionStatus::failed:
      return "failed";
    case ActionStatus::not_repeated:
      return "not_repeated";
  }
  return "failed";
}

}  // namespace smdebug
