#include "smdebug/report/run_summary.h"

#include <fmt/format.h>

#include "smdebug/report/likely_cause.h"
#include "smdebug/report/verdict_text.h"

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

std::string ending_text(const RunSummary& summary) {
  const std::string time = seconds_text(summary.seconds);
  if (!summary.stopped_by.empty()) {
    return fmt::format("stopped after {}, because {} fired", time,
                       summary.stopped_by);
  }
  if (summary.was_interrupted) return fmt::format("interrupted after {}", time);
  if (summary.signal) {
    return fmt::format("ended by signal {} after {}", *summary.signal, time);
  }
  return fmt::format("ended after {} with exit code {}", time,
                     summary.exit_code);
}

void add_overview(const RunOverview& overview, TextTable& table) {
  std::string steps = count_text(overview.steps, "saved step");
  for (const RunOverview::ModeSteps& mode : overview.modes) {
    if (mode.mode == Mode::global) continue;
    steps += fmt::format(", {} {} to {}", mode_name(mode.mode), mode.first,
                         mode.last);
  }
  table.add({"steps", steps});
  for (const RunOverview::LossCourse& loss : overview.losses) {
    std::string course =
        fmt::format("{} from {} to {}", loss.tensor, number_text(loss.first),
                    number_text(loss.last));
    if (loss.mode != Mode::global) {
      course += fmt::format(" ({})", mode_name(loss.mode));
    }
    table.add({"loss", course});
  }
  if (const std::string cost = cost_text(overview); !cost.empty()) {
    table.add({"cost", cost});
  }
  if (overview.dropped_tensors > 0) {
    table.add({"dropped", count_text(overview.dropped_tensors, "tensor")});
  }
  if (!overview.damage.empty()) {
    table.add({"damage", fmt::format("{}: {}", overview.damage.front().key,
                                     overview.damage.front().what)});
  }
}

// Adds each line of `text`, prefixed with `indent`, as a row of `table`.
void add_lines(const std::string& title, std::string_view text,
               TextTable& table, const std::string& indent = "") {
  std::string heading = title;
  while (!text.empty()) {
    const auto end = text.find('\n');
    table.add({heading, indent + std::string(text.substr(0, end))});
    if (end == text.npos) return;
    heading.clear();
    text.remove_prefix(end + 1);
  }
}

bool had_nothing_to_judge(const Verdict& verdict) {
  return verdict.status == RuleStatus::error &&
         verdict.observations_judged == 0;
}

// For rules of the default set: one line for those whose tensors the training
// does not have, and a reason for each that had too little data.
void add_unjudged(std::span<const Verdict> unjudged, TextTable& table) {
  std::string without_tensors;
  for (const Verdict& verdict : unjudged) {
    if (verdict.observations_found > 0) continue;
    without_tensors += (without_tensors.empty() ? "" : ", ") + verdict.rule;
  }
  if (!without_tensors.empty()) {
    table.add({"no data", without_tensors});
    table.add({"",
               "  the run has no tensors for these rules; 'smdebug check RUN "
               "--rule NAME' shows which tensors a rule needs"});
  }
  for (const Verdict& verdict : unjudged) {
    if (verdict.observations_found == 0) continue;
    table.add({"too little", verdict.rule});
    add_lines("", verdict.message, table, "  ");
  }
}

void add_verdicts(const RunSummary& summary, TextTable& table) {
  std::vector<Verdict> unjudged;
  for (const Verdict& verdict : in_order_of_cause(summary.verdicts)) {
    if (summary.has_default_rules && had_nothing_to_judge(verdict)) {
      unjudged.push_back(verdict);
      continue;
    }
    table.add(
        {"rule", fmt::format("{}: {}", rule_title(verdict, summary.verdicts),
                             rule_status_name(verdict.status))});
    add_lines("", verdict.message, table, "  ");
  }
  add_unjudged(unjudged, table);
}

}  // namespace

std::string run_summary_text(const RunSummary& summary) {
  TextTable table({"", ""});
  table.add({"training", ending_text(summary)});
  if (summary.overview) add_overview(*summary.overview, table);
  // If nothing was recorded, there is nothing else to report.
  if (summary.overview) add_verdicts(summary, table);
  if (const std::string cause = likely_cause_text(summary.verdicts);
      summary.overview && !cause.empty()) {
    table.add({"cause", cause});
  }
  for (const ActionResult& result : summary.actions) {
    table.add({"action", action_text(result)});
  }
  add_lines("problem", summary.problem, table);
  if (summary.overview) {
    table.add({"run", summary.location});
    add_lines("open it", python_lines(*summary.overview), table);
  }
  return "smdebug\n" + table.text("  ");
}

std::string run_summary_json(const RunSummary& summary) {
  Json json;
  json["command"] = to_json(summary.command);
  json["seconds"] = summary.seconds;
  json["exit_code"] = summary.exit_code;
  json["signal"] = Json(summary.signal);
  json["stopped_by"] = summary.stopped_by.empty() ? Json() : summary.stopped_by;
  json["interrupted"] = summary.was_interrupted;
  json["run"] = summary.location;
  json["problem"] = summary.problem.empty() ? Json() : summary.problem;
  json["verdicts"] = to_json(in_order_of_cause(summary.verdicts));
  json["likely_cause"] = likely_cause_json(summary.verdicts);
  json["actions"] = to_json(summary.actions);
  const auto overview = summary.overview
                            ? Json::parse(run_overview_json(*summary.overview))
                            : Json();
  json["overview"] = overview ? *overview : Json();
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
