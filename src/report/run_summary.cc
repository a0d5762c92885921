#include "smdebug/report/run_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "smdebug/report/diagnosis.h"
#include "smdebug/report/verdict_groups.h"
#include "smdebug/report/verdict_text.h"

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

// With the heading. Every later addition shares these limits.
constexpr std::size_t kLinesWithoutFinding = 10;
constexpr std::size_t kLinesWithFindings = 12;
// With findings, lines of these ranks are only shown up to this many lines.
constexpr std::size_t kLinesWithExtras = 8;
constexpr int kExtraRank = 4;
// Of all that is printed, so that it fits twelve lines with a warning of the
// training. Lines of these ranks are left out beyond it, down to the least
// number of lines of a summary: the outcome, the finding with its consequences,
// its cause, what to try, and the run.
constexpr std::size_t kLinesTogether = 11;
constexpr std::size_t kLeastLines = 6;

std::size_t lines_with_extras(const RunSummary& summary, std::size_t most) {
  const std::size_t left =
      kLinesTogether - std::min(kLinesTogether, summary.lines_before);
  return std::clamp(left, kLeastLines, most);
}

// An end that is no news has the rank of an extra.
int ending_rank(const RunSummary& summary) {
  const bool is_usual = summary.ending.empty() && summary.exit_code == 0 &&
                        !summary.signal && summary.stopped_by.empty() &&
                        !summary.was_interrupted;
  return is_usual ? kExtraRank : 0;
}

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

std::string steps_text(const RunOverview& overview) {
  std::string steps = count_text(overview.steps, "saved step");
  for (const RunOverview::ModeSteps& mode : overview.modes) {
    if (mode.mode == Mode::global) continue;
    steps += fmt::format(", {} {} to {}", mode_name(mode.mode), mode.first,
                         mode.last);
  }
  return steps;
}

std::string loss_text(const RunOverview::LossCourse& loss) {
  std::string course =
      fmt::format("{} from {} to {}", loss.tensor, number_text(loss.first),
                  number_text(loss.last));
  if (loss.mode != Mode::global) {
    course += fmt::format(" ({})", mode_name(loss.mode));
  }
  return course;
}

void add_overview(const RunSummary& summary, const RunOverview& overview,
                  std::vector<SummaryLine>& lines) {
  lines.push_back({"steps", steps_text(overview), 5});
  bool names_not_finite = false;
  for (std::size_t i = 0; i < overview.losses.size(); ++i) {
    const RunOverview::LossCourse& loss = overview.losses[i];
    // Such as that of an evaluation whose training is fine.
    const bool is_news =
        !names_not_finite && !std::isfinite(loss.first + loss.last);
    names_not_finite |= is_news;
    lines.push_back({"loss", loss_text(loss), is_news ? 2 : i == 0 ? 4 : 9});
  }
  const std::string cost =
      summary.cost.empty() ? cost_text(overview) : summary.cost;
  if (!cost.empty()) lines.push_back({"cost", cost, 8});
  if (overview.dropped_tensors > 0) {
    lines.push_back(
        {"dropped", count_text(overview.dropped_tensors, "tensor"), 3});
  }
  if (!overview.damage.empty()) {
    lines.push_back({"damage",
                     fmt::format("{}: {}", overview.damage.front().key,
                                 overview.damage.front().what),
                     3});
  }
}

void add_actions(const RunSummary& summary, std::vector<SummaryLine>& lines) {
  for (std::size_t i = 0; i < summary.actions.size(); ++i) {
    // The first line of the summary reports that the training was stopped.
    const bool is_known = summary.actions[i].action == "stop" &&
                          summary.actions[i].status == ActionStatus::done;
    const int rank = is_known ? 8 : i < 3 ? 2 : 7;
    lines.push_back({"action", action_text(summary.actions[i]), rank});
  }
}

// Models with the same outcome share a line.
void add_other_models(const RunSummary& summary,
                      std::vector<SummaryLine>& lines) {
  std::vector<std::pair<std::string, std::vector<std::string>>> outcomes;
  for (const OtherModel& model : summary.other_models) {
    auto same = std::ranges::find(outcomes, model.outcome,
                                  [](const auto& each) { return each.first; });
    if (same == outcomes.end())
      same = outcomes.insert(same, {model.outcome, {}});
    same->second.push_back(model.location);
  }
  for (const auto& [outcome, locations] : outcomes) {
    lines.push_back(
        {"models",
         fmt::format("{}, {}: {}", count_text(locations.size(), "other model"),
                     outcome, names_text(locations, 2)),
         3});
  }
}

// Every rule with its status and message.
void add_all_verdicts(const RunSummary& summary,
                      std::vector<SummaryLine>& lines) {
  for (const Verdict& verdict : in_order_of_cause(summary.verdicts)) {
    lines.push_back(
        {"rule",
         fmt::format("{}: {}: {}", rule_title(verdict, summary.verdicts),
                     rule_status_name(verdict.status), verdict.message)});
  }
}

std::vector<SummaryLine> lines_of(const RunSummary& summary) {
  std::vector<SummaryLine> lines = {
      {"training",
       summary.ending.empty() ? ending_text(summary) : summary.ending,
       ending_rank(summary)}};
  // If nothing was recorded, there is nothing else to report.
  if (summary.overview) {
    add_overview(summary, *summary.overview, lines);
    const auto verdicts =
        summary_lines(summary.verdicts, summary.has_default_rules);
    lines.insert(lines.end(), verdicts.begin(), verdicts.end());
    if (summary.detail == Detail::verbose) add_all_verdicts(summary, lines);
  }
  add_other_models(summary, lines);
  add_actions(summary, lines);
  if (!summary.problem.empty()) lines.push_back({"problem", summary.problem});
  if (summary.overview) {
    lines.push_back({"run", summary.location, 1});
    lines.push_back({"open it", python_line(*summary.overview), 6});
  }
  return lines;
}

bool is_worth_reading(const RunSummary& summary) {
  const bool has_verdict =
      std::ranges::any_of(summary.verdicts, [](const Verdict& verdict) {
        const VerdictGroup group = group_of(verdict);
        return group == VerdictGroup::fired || group == VerdictGroup::failed;
      });
  return has_verdict || !summary.problem.empty() ||
         std::ranges::any_of(summary.actions, [](const ActionResult& action) {
           return action.status == ActionStatus::failed;
         });
}

// By itself, not because it was stopped.
bool has_failed(const RunSummary& summary) {
  return (summary.exit_code != 0 || summary.signal) &&
         summary.stopped_by.empty() && !summary.was_interrupted;
}

}  // namespace

std::string recording_problem(const RunOverview& overview) {
  if (!overview.recording_failure.empty()) {
    return "the recording failed, so later steps are missing: " +
           overview.recording_failure;
  }
  if (overview.steps > 0) return "";
  return "no step was recorded: the training ended before its first step was "
         "complete, or it has none of the requested tensors";
}

std::string run_summary_text(const RunSummary& summary) {
  const std::string text = summary_text(summary);
  return text.empty() ? "" : "smdebug: " + text;
}

std::string summary_text(const RunSummary& summary) {
  if (summary.detail == Detail::quiet && !is_worth_reading(summary)) return "";
  const bool has_fired =
      std::ranges::any_of(summary.verdicts, [](const Verdict& verdict) {
        return verdict.status == RuleStatus::issues_found;
      });
  std::vector<SummaryLine> lines = lines_of(summary);
  const std::size_t most =
      has_fired ? kLinesWithFindings : kLinesWithoutFinding;
  std::size_t limit = lines.size() + 1;
  if (summary.detail != Detail::verbose) {
    limit = most;
    leave_out(
        lines,
        lines_with_extras(summary, has_fired ? kLinesWithExtras : most) - 1,
        kExtraRank);
  }
  std::string outcome =
      summary.overview
          ? outcome_text(summary.verdicts, summary.has_default_rules)
          : "nothing was recorded";
  if (has_failed(summary) && !has_fired) {
    outcome = "the training failed; " +
              (summary.overview ? "no rule fired before" : outcome);
  } else if (summary.overview && !summary.overview->recording_failure.empty()) {
    outcome = "the recording failed; " +
              (has_fired ? outcome : "no rule fired before");
  }
  if (summary.overview && !has_fired && hides_tensors(summary.overview->damage))
    outcome += ", but the run is damaged";
  return outcome + "\n" + summary_table(std::move(lines), limit - 1);
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
  json["diagnosis"] = diagnosis_json(summary.verdicts);
  json["actions"] = to_json(summary.actions);
  json["other_models"] = Json::Array();
  for (const OtherModel& model : summary.other_models) {
    json["other_models"].append(
        Json::Object{{"run", model.location}, {"outcome", model.outcome}});
  }
  const auto overview = summary.overview
                            ? Json::parse(run_overview_json(*summary.overview))
                            : Json();
  json["overview"] = overview ? *overview : Json();
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
