#include "smdebug/monitor/monitor_result.h"

#include <algorithm>

#include "smdebug/base/escape.h"
#include "smdebug/report/likely_cause.h"
#include "smdebug/report/verdict_text.h"

#include "report/json_parts.h"
#include "report/text_table.h"

namespace smdebug {

int exit_code(std::span<const Verdict> verdicts, bool asked) {
  const auto has = [&](RuleStatus status) {
    return std::ranges::find(verdicts, status, &Verdict::status) !=
           verdicts.end();
  };
  if (has(RuleStatus::issues_found)) return kExitRuleFired;
  const bool is_failure =
      has(RuleStatus::error) && (asked || !has(RuleStatus::no_issues_found));
  return is_failure ? kExitError : kExitNothingFound;
}

std::string monitor_results_text(std::span<const MonitorResult> results) {
  TextTable table({"run", "rule", "status", ">step", ""});
  for (const MonitorResult& run : results) {
    if (run.error) {
      table.add({run.location, "", "Error", "", run.error->message});
      continue;
    }
    for (const Verdict& verdict : in_order_of_cause(run.verdicts)) {
      table.add(
          {run.location, rule_title(verdict, run.verdicts),
           std::string(rule_status_name(verdict.status)),
           verdict.step.global < 0 ? "" : std::to_string(verdict.step.global),
           verdict.message});
    }
  }
  std::string text = table.text();
  for (const MonitorResult& run : results) {
    if (const std::string cause = likely_cause_text(run.verdicts);
        !cause.empty()) {
      text += "likely cause in " + printable(run.location) + ": " +
              printable(cause) + "\n";
    }
  }
  for (const MonitorResult& run : results) {
    for (const ActionResult& result : run.actions) {
      text += "action of " + result.rule + ": " + action_text(result) + "\n";
    }
  }
  return text;
}

std::string monitor_results_json(std::span<const MonitorResult> results) {
  Json json = Json::Array();
  for (const MonitorResult& run : results) {
    Json one;
    one["run"] = run.location;
    one["steps"] = run.steps;
    one["verdicts"] = to_json(in_order_of_cause(run.verdicts));
    one["likely_cause"] = likely_cause_json(run.verdicts);
    one["actions"] = to_json(run.actions);
    one["error"] = run.error ? Json(run.error->message) : Json();
    json.append(std::move(one));
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
