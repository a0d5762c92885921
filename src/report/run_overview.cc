#include "smdebug/report/run_overview.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/report/verdict_groups.h"

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kNamesShown = 6;
constexpr std::size_t kDamageShown = 10;

std::string state_text(const RunOverview& overview) {
  std::string text = "no end marker: still running or killed";
  if (!overview.recording_failure.empty()) {
    return "ended, but not all of it was recorded: " +
           overview.recording_failure;
  }
  if (overview.has_ended) text = "ended";
  if (overview.has_ended && overview.attempt &&
      !overview.attempt->raised.empty()) {
    text = raised_text(overview.attempt->raised);
  }
  if (overview.was_killed) {
    return "killed or crashed: its process has exited without an end marker";
  }
  // "finished" is the recording: the training may have failed.
  if (overview.attempt && !overview.attempt->status.empty() &&
      overview.attempt->status != "finished") {
    text += fmt::format(" ({})", overview.attempt->status);
  }
  return text;
}

std::string steps_text(const RunOverview& overview) {
  std::string text = fmt::format("{} saved", overview.steps);
  for (const RunOverview::ModeSteps& mode : overview.modes) {
    if (mode.mode == Mode::global) {
      text += fmt::format(", {} to {}", mode.first, mode.last);
    } else {
      text += fmt::format(", {} {} ({} to {})", mode_name(mode.mode),
                          mode.steps, mode.first, mode.last);
    }
  }
  return text;
}

void add_attempt(const RunOverview& overview, TextTable& table) {
  if (!overview.attempt) return;
  const Attempt& attempt = *overview.attempt;
  table.add({"command", fmt::format("{}", fmt::join(attempt.command, " "))});
  std::string when =
      fmt::format("{} on {}, process {}", date_text(attempt.started_seconds),
                  attempt.host, attempt.process_id);
  if (overview.attempts > 1)
    when += fmt::format(", attempt {}", overview.attempts);
  table.add({"started", when});
  std::vector<std::string> versions;
  for (const auto& [name, version] : attempt.versions) {
    versions.push_back(name + " " + version);
  }
  table.add({"versions", fmt::format("{}", fmt::join(versions, ", "))});
}

// An attempt that was started again did not end, whatever it recorded last.
void add_earlier_attempts(const RunOverview& overview, TextTable& table) {
  for (const Attempt& attempt : overview.earlier_attempts) {
    std::string text = "did not end";
    if (attempt.number > 0)
      text = date_text(attempt.started_seconds) + ", " + text;
    if (!attempt.location.empty()) text += ": smdebug show " + attempt.location;
    table.add({fmt::format("attempt {}", attempt.number), text});
  }
}

void add_damage(const RunOverview& overview, TextTable& table) {
  if (overview.dropped_tensors > 0) {
    table.add({"dropped", count_text(overview.dropped_tensors, "tensor") +
                              " because the queue was full"});
  }
  const std::size_t shown = std::min(overview.damage.size(), kDamageShown);
  for (std::size_t i = 0; i < shown; ++i) {
    table.add(
        {"damage", overview.damage[i].key + ": " + overview.damage[i].what});
  }
  if (overview.damage.size() > shown) {
    table.add({"", fmt::format("and {} more", overview.damage.size() - shown)});
  }
}

bool is_unjudged(const RecordedStatus& rule) {
  return rule.status == rule_status_name(RuleStatus::error) &&
         is_nothing_to_judge(rule.message);
}

// As `smdebug check` without rules: those with too little data have a reason,
// those without any share a line.
void add_unjudged(const RunOverview& overview, TextTable& table) {
  std::vector<std::string> left;
  for (const RecordedStatus& rule : overview.rules) {
    if (!is_unjudged(rule)) continue;
    if (rule.observations_found == 0) {
      left.push_back(rule.key);
    } else {
      table.add({"rule", fmt::format("{}: too little to judge: {}", rule.key,
                                     reason_text(rule.message))});
    }
  }
  if (left.empty()) return;
  table.add({"rule", fmt::format("not applicable: {}", fmt::join(left, ", "))});
}

void add_rules(const RunOverview& overview, TextTable& table) {
  for (const RecordedStatus& rule : overview.rules) {
    if (is_unjudged(rule)) continue;
    std::string text = rule.key + ": " + rule.status;
    if (rule.severity == Severity::advice) text += " (advice)";
    if (rule.last_step >= 0) {
      text += fmt::format(", up to step {}", rule.last_step);
    }
    if (rule.lag_steps > 0) {
      text += fmt::format(
          ", {} ({:.1f} s) behind",
          count_text(static_cast<std::uint64_t>(rule.lag_steps), "step"),
          rule.lag_seconds);
    }
    table.add({"rule", text + ", at " + rule.last_modified});
    if (rule.status == rule_status_name(RuleStatus::issues_found) ||
        rule.status == rule_status_name(RuleStatus::error)) {
      table.add({"", "  " + rule.message});
    }
  }
  add_unjudged(overview, table);
}

Json to_json(const RecordedStatus& rule) {
  return Json::Object{
      {"key", rule.key},
      {"rule", rule.rule},
      {"status", rule.status},
      {"severity",
       rule.severity ? Json(severity_name(*rule.severity)) : Json()},
      {"message", rule.message},
      {"last_modified", rule.last_modified},
      {"last_step", rule.last_step},
      {"lag_steps", rule.lag_steps},
      {"lag_seconds", rule.lag_seconds}};
}

Json newest_attempt(const Attempt& attempt) {
  Json versions = Json::Object();
  for (const auto& [name, version] : attempt.versions) versions[name] = version;
  Json cost = Json::Object();
  for (const auto& [name, amount] : attempt.cost) cost[name] = amount;
  return Json::Object{{"host", attempt.host},
                      {"pid", attempt.process_id},
                      {"started", attempt.started_seconds},
                      {"ended", Json(attempt.ended_seconds)},
                      {"command", smdebug::to_json(attempt.command)},
                      {"versions", std::move(versions)},
                      {"status", attempt.status},
                      {"raised", attempt.raised},
                      {"cost", std::move(cost)}};
}

Json earlier_attempt(const Attempt& attempt) {
  return Json::Object{{"number", attempt.number},
                      {"started", attempt.started_seconds},
                      {"first_step", Json(attempt.first_step)},
                      {"run", attempt.location}};
}

}  // namespace

std::string cost_text(const RunOverview& overview) {
  if (!overview.attempt) return "";
  const auto& cost = overview.attempt->cost;
  const auto spent = cost.find("step_thread_seconds");
  if (spent == cost.end()) return "";
  std::string text = seconds_text(spent->second);
  if (const auto steps = cost.find("steps"); steps != cost.end()) {
    // A damaged file may have any number.
    const double counted = std::clamp(steps->second, 0.0, 1e15);
    text += " in " + count_text(static_cast<std::uint64_t>(counted), "step");
  }
  // The first step has costs of its own: of a short run they are the most.
  constexpr double kShortest = 1;
  if (const auto run = cost.find("run_seconds");
      run != cost.end() && run->second >= kShortest) {
    text += fmt::format(", {:.2g} % of the {} since its first step",
                        100 * spent->second / run->second,
                        seconds_text(run->second));
  }
  return text;
}

std::string python_line(const RunOverview& overview) {
  return "from smdebug.trials import create_trial; trial = create_trial(" +
         python_string(overview.location) + ")";
}

std::string run_overview_text(const RunOverview& overview) {
  TextTable table({"", ""});
  table.add({"run", overview.location});
  table.add({"state", state_text(overview)});
  add_attempt(overview, table);
  add_earlier_attempts(overview, table);
  table.add({"steps", steps_text(overview)});
  table.add({"workers", names_text(overview.workers, kNamesShown)});
  table.add({"tensors", std::to_string(overview.tensors)});
  for (const auto& collection : overview.collections) {
    table.add({"  " + collection.name,
               fmt::format("{}: {}", collection.tensors.size(),
                           names_text(collection.tensors, kNamesShown))});
  }
  for (const RunOverview::LossCourse& loss : overview.losses) {
    table.add(
        {"loss",
         fmt::format("{} {} to {} in {} ({})", loss.tensor,
                     number_text(loss.first), number_text(loss.last),
                     count_text(loss.steps, "step"), mode_name(loss.mode))});
  }
  table.add({"size", bytes_text(overview.bytes)});
  if (const auto cost = cost_text(overview); !cost.empty()) {
    table.add({"cost", cost});
  }
  add_rules(overview, table);
  add_damage(overview, table);
  return table.text();
}

std::string run_overview_json(const RunOverview& overview) {
  Json json;
  json["run"] = overview.location;
  json["ended"] = overview.has_ended;
  json["killed"] = overview.was_killed;
  json["recording_failure"] = overview.recording_failure.empty()
                                  ? Json()
                                  : Json(overview.recording_failure);
  json["framework"] = overview.framework;
  json["steps"] = overview.steps;
  json["modes"] = Json::Array();
  for (const RunOverview::ModeSteps& mode : overview.modes) {
    json["modes"].append(Json::Object{{"mode", mode_name(mode.mode)},
                                      {"steps", mode.steps},
                                      {"first", mode.first},
                                      {"last", mode.last}});
  }
  json["workers"] = to_json(overview.workers);
  json["tensors"] = overview.tensors;
  json["collections"] = Json::Array();
  for (const auto& collection : overview.collections) {
    json["collections"].append(Json::Object{
        {"name", collection.name}, {"tensors", to_json(collection.tensors)}});
  }
  json["losses"] = Json::Array();
  for (const RunOverview::LossCourse& loss : overview.losses) {
    json["losses"].append(Json::Object{{"tensor", loss.tensor},
                                       {"mode", mode_name(loss.mode)},
                                       {"steps", loss.steps},
                                       {"first", loss.first},
                                       {"last", loss.last}});
  }
  json["bytes"] = overview.bytes;
  json["attempts"] = overview.attempts;
  json["earlier_attempts"] = Json::Array();
  for (const Attempt& attempt : overview.earlier_attempts) {
    json["earlier_attempts"].append(earlier_attempt(attempt));
  }
  json["attempt"] =
      overview.attempt ? newest_attempt(*overview.attempt) : Json();
  json["dropped_tensors"] = overview.dropped_tensors;
  json["rules"] = Json::Array();
  for (const RecordedStatus& rule : overview.rules) {
    json["rules"].append(to_json(rule));
  }
  json["damage"] = Json::Array();
  for (const Damage& damage : overview.damage) {
    json["damage"].append(
        Json::Object{{"file", damage.key}, {"what", damage.what}});
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
