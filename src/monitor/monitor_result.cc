#include "smdebug/monitor/monitor_result.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/report/diagnosis.h"
#include "smdebug/report/verdict_groups.h"
#include "smdebug/report/verdict_text.h"

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

bool is_unjudged(const Verdict& verdict) {
  const VerdictGroup group = group_of(verdict);
  return group == VerdictGroup::too_little ||
         group == VerdictGroup::not_applicable;
}

bool is_shown(const Verdict& verdict, bool are_default_rules, Detail detail) {
  if (detail == Detail::verbose) return true;
  if (is_unjudged(verdict)) return !are_default_rules;
  return detail == Detail::normal || group_of(verdict) == VerdictGroup::fired ||
         group_of(verdict) == VerdictGroup::failed;
}

// The end of the message of a rule that did not find what damage may hide.
std::string note_on_damage(const Verdict& verdict, const MonitorResult& run) {
  if (!hides_tensors(run.damage)) return "";
  if (is_unjudged(verdict)) return damage_note(run.damage.size());
  return group_of(verdict) == VerdictGroup::clean ? hidden_note(run.damage)
                                                  : "";
}

void add_rows(const MonitorResult& run, bool are_default_rules, Detail detail,
              TextTable& table) {
  if (run.error) return;
  const std::size_t before = table.rows();
  for (const Verdict& verdict : in_order_of_cause(run.verdicts)) {
    if (!is_shown(verdict, are_default_rules, detail)) continue;
    table.add(
        {run.location, rule_title(verdict, run.verdicts),
         std::string(rule_status_name(verdict.status)),
         verdict.step.global < 0 ? "" : std::to_string(verdict.step.global),
         verdict.message + note_on_damage(verdict, run)});
  }
  if (table.rows() == before && detail != Detail::quiet) {
    table.add({run.location, "", "Error", "",
               outcome_text(run.verdicts) + damage_note(run.damage.size())});
  }
}

// The findings as `smdebug run --verbose` prints them.
std::string evidence_text(const MonitorResult& run) {
  std::string text;
  for (const Verdict& verdict :
       verdicts_in(VerdictGroup::fired, run.verdicts)) {
    text += printable(run.location) + ": " + verdict_text(verdict);
  }
  return text;
}

// Why a run may lack the tensors of a rule although its training had them.
std::string loss_text(const MonitorResult& run) {
  if (!run.recording_failure.empty()) return "whose recording failed";
  return hides_tensors(run.damage) ? "which is damaged" : "";
}

// A line per rule with too little data, and one for those without any.
std::string unjudged_text(const MonitorResult& run) {
  if (run.error) return "";
  std::string text;
  const std::string location = printable(run.location);
  for (const Verdict& verdict :
       verdicts_in(VerdictGroup::too_little, run.verdicts)) {
    text += "too little in " + location + ": " + verdict.rule + ": " +
            printable(reason_text(verdict.message)) + "\n";
  }
  if (const std::string rules =
          rules_in(VerdictGroup::not_applicable, run.verdicts);
      !rules.empty()) {
    const std::string loss = loss_text(run);
    text +=
        (loss.empty() ? "not applicable to " + location
                      : "no tensors in " + location + ", " + loss + ", for") +
        (loss.empty() ? ": " : " ") + printable(rules) + "\n";
  }
  return text;
}

std::string recording_text(const MonitorResult& run) {
  if (run.recording_failure.empty()) return "";
  return "recording of " + printable(run.location) +
         " failed, so later steps " +
         "are missing: " + printable(run.recording_failure) + "\n";
}

// One line with the first damaged file, and the number of the others.
std::string damage_text(const MonitorResult& run) {
  if (run.damage.empty()) return "";
  const Damage& first = run.damage.front();
  std::string text = "damage in " + printable(run.location) + ": " +
                     printable(first.key) + ": " + printable(first.what);
  if (const std::size_t others = run.damage.size() - 1; others > 0) {
    text +=
        fmt::format("; and {} more, 'smdebug check --json' lists them", others);
  }
  return text + "\n";
}

// For runs with only advice, which is no cause of anything else.
std::string advice_text(const MonitorResult& run) {
  const auto fired = verdicts_in(VerdictGroup::fired, run.verdicts);
  if (fired.empty()) return "";
  const Verdict& first = fired.front();
  TextTable table({"", ""});
  if (!first.cause.empty())
    table.add({"cause", "likely " + printable(first.cause)});
  if (!first.advice.empty()) table.add({"try", printable(first.advice)});
  if (table.rows() == 0) return "";
  return "advice about " + printable(run.location) + ": " +
         rule_title(first, run.verdicts) + "\n" + table.text("  ");
}

// The causes with their consequences, and what to try about the first.
std::string diagnosis_text(const MonitorResult& run) {
  const std::vector<Diagnosis> found = diagnose(run.verdicts);
  if (run.error) return "";
  if (found.empty()) return advice_text(run);
  std::string text = "diagnosis of " + printable(run.location) + "\n";
  TextTable table({"", ""});
  for (const SummaryLine& line : diagnosis_lines(run.verdicts)) {
    table.add({line.title, line.text});
  }
  return text + table.text("  ");
}

}  // namespace

int exit_code(std::span<const Verdict> verdicts, bool asked) {
  const auto has = [&](RuleStatus status) {
    return std::ranges::find(verdicts, status, &Verdict::status) !=
           verdicts.end();
  };
  const bool has_fired =
      std::ranges::any_of(verdicts, [&](const Verdict& verdict) {
        return verdict.status == RuleStatus::issues_found &&
               (asked || verdict.severity != Severity::advice);
      });
  if (has_fired) return kExitRuleFired;
  const bool has_judged =
      has(RuleStatus::no_issues_found) || has(RuleStatus::issues_found);
  const bool has_failed = std::ranges::find(verdicts, VerdictGroup::failed,
                                            group_of) != verdicts.end();
  const bool is_failure =
      has_failed || (has(RuleStatus::error) && (asked || !has_judged));
  return is_failure ? kExitError : kExitNothingFound;
}

int exit_code(const MonitorResult& result, bool asked) {
  if (result.error) return kExitError;
  const int code = exit_code(result.verdicts, asked);
  return code == kExitNothingFound && hides_tensors(result.damage) ? kExitError
                                                                   : code;
}

RunSummary summarize(const MonitorResult& result, Trial* trial) {
  RunSummary summary;
  summary.location = result.location;
  summary.verdicts = result.verdicts;
  summary.actions = result.actions;
  if (result.error) summary.problem = result.error->message;
  if (!trial) return summary;
  // Of a run that was removed or cannot be read, what was judged before.
  summary.overview.emplace();
  summary.overview->location = result.location;
  summary.overview->steps = result.steps;
  if (result.error || !trial->exists()) return summary;
  if (auto overview = read_run_overview(*trial))
    summary.overview = *std::move(overview);
  summary.problem = recording_problem(*summary.overview);
  return summary;
}

std::string monitor_results_text(std::span<const MonitorResult> results,
                                 bool are_default_rules, Detail detail) {
  TextTable table({"run", "rule", "status", ">step", ""});
  for (const MonitorResult& run : results) {
    add_rows(run, are_default_rules, detail, table);
  }
  std::string text = table.rows() > 0 ? table.text() : "";
  if (detail == Detail::verbose) {
    for (const MonitorResult& run : results) text += evidence_text(run);
  } else if (are_default_rules && detail == Detail::normal) {
    for (const MonitorResult& run : results) text += unjudged_text(run);
  }
  for (const MonitorResult& run : results)
    text += recording_text(run) + damage_text(run);
  for (const MonitorResult& run : results) text += diagnosis_text(run);
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
    one["diagnosis"] = diagnosis_json(run.verdicts);
    one["actions"] = to_json(run.actions);
    one["damage"] = Json::Array();
    for (const Damage& damage : run.damage) {
      Json file;
      file["file"] = damage.key;
      file["what"] = damage.what;
      one["damage"].append(std::move(file));
    }
    one["recording_failure"] =
        run.recording_failure.empty() ? Json() : Json(run.recording_failure);
    one["error"] = run.error ? Json(run.error->message) : Json();
    json.append(std::move(one));
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
