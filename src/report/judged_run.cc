#include "smdebug/report/judged_run.h"

#include "smdebug/base/printable.h"
#include "smdebug/report/likely_cause.h"
#include "smdebug/report/verdict_page.h"

#include "report/json_parts.h"
#include "report/text_table.h"

namespace smdebug {

std::string judged_runs_text(std::span<const JudgedRun> runs) {
  TextTable table({"run", "rule", "status", ">step", ""});
  for (const JudgedRun& run : runs) {
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
  for (const JudgedRun& run : runs) {
    if (const std::string cause = likely_cause_text(run.verdicts);
        !cause.empty()) {
      text += "likely cause in " + printable(run.location) + ": " +
              printable(cause) + "\n";
    }
  }
  for (const JudgedRun& run : runs) {
    for (const ActionResult& result : run.actions) {
      text += "action of " + result.rule + ": " + action_text(result) + "\n";
    }
  }
  return text;
}

std::string judged_runs_json(std::span<const JudgedRun> runs) {
  Json json = Json::Array();
  for (const JudgedRun& run : runs) {
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
