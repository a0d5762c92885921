#include "smdebug/report/run_list.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kRulesShown = 3;

bool has_status(const RecordedStatus& rule, RuleStatus status) {
  return rule.status == rule_status_name(status);
}

std::string state_text(const RunRow& row) {
  return std::string(row.state ? run_state_name(*row.state) : "unreadable");
}

// The rules that found something, each once. `is_advice`: those whose findings
// are nothing but advice; otherwise the others.
std::vector<std::string> fired_rules(const RunRow& row, bool is_advice) {
  std::map<std::string, bool> only_advice;
  for (const RecordedStatus& rule : row.rules) {
    if (!has_status(rule, RuleStatus::issues_found)) continue;
    bool& only = only_advice.try_emplace(rule.rule, true).first->second;
    only = only && rule.severity == Severity::advice;
  }
  std::vector<std::string> names;
  for (const auto& [name, only] : only_advice) {
    if (only == is_advice) names.push_back(name);
  }
  return names;
}

std::string problem_text(const RunRow& row) {
  std::string text = row.problem;
  if (row.dropped_tensors > 0) {
    text += (text.empty() ? "" : "; ") +
            count_text(row.dropped_tensors, "tensor") + " dropped";
  }
  return one_line(text);  // an error may have several lines
}

std::vector<std::string> cells(const RunRow& row, double wall_seconds) {
  const bool is_read = row.state.has_value();
  return {row.run,
          state_text(row),
          row.attempt > 0 ? std::to_string(row.attempt) : "",
          is_read ? std::to_string(row.steps) : "",
          row.loss ? loss_text(row.loss->value, row.loss->mode) : "",
          findings_text(row),
          is_read ? bytes_text(row.bytes) : "",
          row.started_seconds > 0 ? age_text(wall_seconds - row.started_seconds)
                                  : "",
          problem_text(row)};
}

void add_raised(const std::string& exception, RunRow& row) {
  if (exception.empty()) return;
  row.add_problem(raised_text(exception));
}

// JSON has no numbers that are not finite.
Json loss_json(const std::optional<RunProgress::Loss>& loss) {
  if (!loss) return {};
  return Json::Object{
      {"tensor", loss->tensor},
      {"mode", mode_name(loss->mode)},
      {"step", loss->step},
      {"value", std::isfinite(loss->value) ? Json(loss->value)
                                           : Json(number_text(loss->value))}};
}

Json to_json(const RunRow& row) {
  return Json::Object{
      {"run", row.run},
      {"state", state_text(row)},
      {"framework", row.framework},
      {"attempt", row.attempt},
      {"workers", row.workers},
      {"steps", row.steps},
      {"last_step", row.last_step},
      {"loss", loss_json(row.loss)},
      {"fired", smdebug::to_json(fired_rules(row, /*is_advice=*/false))},
      {"advice", smdebug::to_json(fired_rules(row, /*is_advice=*/true))},
      {"findings", findings_text(row)},
      {"bytes", row.bytes},
      {"started", row.started_seconds > 0 ? Json(row.started_seconds) : Json()},
      {"dropped_tensors", row.dropped_tensors},
      {"problem", row.problem}};
}

}  // namespace

RunRow run_row(const RunProgress& progress) {
  RunRow row;
  row.framework = progress.framework;
  row.attempt = progress.attempt;
  row.workers = static_cast<std::uint64_t>(progress.workers);
  row.steps = progress.steps;
  row.last_step = progress.last_step;
  if (!progress.losses.empty()) row.loss = progress.losses.front();
  row.bytes = progress.bytes;
  row.started_seconds = progress.started_seconds;
  row.dropped_tensors = progress.dropped_tensors;
  if (!progress.error.empty())
    row.problem = "recording failed: " + progress.error;
  add_raised(progress.raised, row);
  return row;
}

RunRow run_row(const RunOverview& overview) {
  RunRow row;
  row.framework = overview.framework;
  row.attempt = overview.attempts;
  row.workers = overview.workers.size();
  row.steps = overview.steps;
  if (!overview.losses.empty()) {
    const RunOverview::LossCourse& loss = overview.losses.front();
    row.loss = {loss.tensor, loss.mode, -1, loss.last};
  }
  row.bytes = overview.bytes;
  row.dropped_tensors = overview.dropped_tensors;
  if (overview.attempt) row.started_seconds = overview.attempt->started_seconds;
  if (!overview.damage.empty()) {
    row.problem =
        overview.damage.front().key + ": " + overview.damage.front().what;
  }
  if (overview.attempt) add_raised(overview.attempt->raised, row);
  return row;
}

void sort_rows(std::vector<RunRow>& rows) {
  std::ranges::sort(rows, [](const RunRow& a, const RunRow& b) {
    return std::tie(b.started_seconds, a.run) <
           std::tie(a.started_seconds, b.run);
  });
}

std::string findings_text(const RunRow& row) {
  const auto fired = fired_rules(row, /*is_advice=*/false);
  if (!fired.empty()) return names_text(fired, kRulesShown);
  const auto advice = fired_rules(row, /*is_advice=*/true);
  if (!advice.empty()) return "advice: " + names_text(advice, kRulesShown);
  if (row.rules.empty()) return "";
  const auto is_clean = [](const RecordedStatus& rule) {
    return has_status(rule, RuleStatus::no_issues_found);
  };
  const auto is_open = [](const RecordedStatus& rule) {
    return has_status(rule, RuleStatus::in_progress);
  };
  if (std::ranges::any_of(row.rules, is_open)) {
    return row.state == RunState::running ? "judging" : "not judged to the end";
  }
  return std::ranges::any_of(row.rules, is_clean) ? "no issue"
                                                  : "nothing judged";
}

std::string run_list_text(std::span<const RunRow> rows, double wall_seconds) {
  const std::vector<std::string> headings = {"run",    "state",    ">attempt",
                                             ">steps", ">loss",    "rules",
                                             ">size",  ">started", "problem"};
  std::vector<std::vector<std::string>> lines;
  for (const RunRow& row : rows) lines.push_back(cells(row, wall_seconds));
  const auto is_shown = [&](std::size_t column) {
    if (headings[column] == ">attempt") {
      return std::ranges::any_of(
          rows, [](const RunRow& row) { return row.attempt > 1; });
    }
    if (headings[column] != "problem") return true;
    return std::ranges::any_of(
        lines, [&](const auto& line) { return !line[column].empty(); });
  };
  std::vector<std::size_t> columns;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < headings.size(); ++i) {
    if (!is_shown(i)) continue;
    columns.push_back(i);
    shown.push_back(headings[i]);
  }
  TextTable table(shown);
  for (const auto& line : lines) {
    std::vector<std::string> row;
    for (const std::size_t column : columns) row.push_back(line[column]);
    table.add(std::move(row));
  }
  return table.text();
}

std::string run_list_json(std::span<const RunRow> rows) {
  Json json;
  json["runs"] = Json::Array();
  for (const RunRow& row : rows) json["runs"].append(to_json(row));
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
