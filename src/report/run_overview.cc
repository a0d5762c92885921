#include "smdebug/report/run_overview.h"

#include <fmt/format.h>

#include "report/json_parts.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

constexpr std::size_t kNamesShown = 6;
constexpr std::size_t kDamageShown = 10;

std::string state_text(const RunPage& page) {
  std::string text =
      page.has_ended ? "ended" : "no end marker: still running or killed";
  if (page.attempt && !page.attempt->status.empty()) {
    text += fmt::format(" ({})", page.attempt->status);
  }
  return text;
}

std::string steps_text(const RunPage& page) {
  std::string text = fmt::format("{} saved", page.steps);
  for (const RunPage::ModeSteps& mode : page.modes) {
    if (mode.mode == Mode::global) {
      text += fmt::format(", {} to {}", mode.first, mode.last);
    } else {
      text += fmt::format(", {} {} ({} to {})", mode_name(mode.mode),
                          mode.steps, mode.first, mode.last);
    }
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(),
                names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) {
    text += fmt::format(", and {} more", names.size() - shown);
  }
  return text;
}

void add_attempt(const RunPage& page, TextTable& table) {
  if (!page.attempt) return;
  const RunPage::Attempt& attempt = *page.attempt;
  table.add({"command", fmt::format("{}", fmt::join(attempt.command, " "))});
  std::string when =
      fmt::format("{} on {}, process {}", date_text(attempt.started_seconds),
                  attempt.host, attempt.process_id);
  if (page.attempts > 1) when += fmt::format(", attempt {}", page.attempts);
  table.add({"started", when});
  std::vector<std::string> versions;
  for (const auto& [name, version] : attempt.versions) {
    versions.push_back(name + " " + version);
  }
  table.add({"versions", fmt::format("{}", fmt::join(versions, ", "))});
}

void add_damage(const RunPage& page, TextTable& table) {
  if (page.dropped_tensors > 0) {
    table.add({"dropped", count_text(page.dropped_tensors, "tensor") +
                              " because the queue was full"});
  }
  const std::size_t shown = std::min(page.damage.size(), kDamageShown);
  for (std::size_t i = 0; i < shown; ++i) {
    table.add({"damage", page.damage[i].key + ": " + page.damage[i].what});
  }
  if (page.damage.size() > shown) {
    table.add({"", fmt::format("and {} more", page.damage.size() - shown)});
  }
}

void add_rules(const RunPage& page, TextTable& table) {
  for (const RecordedStatus& rule : page.rules) {
    std::string text = rule.key + ": " + rule.status;
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
    if (rule.status == rule_status_name(RuleStatus::issues_found)) {
      table.add({"", "  " + rule.message});
    }
  }
}

Json to_json(const RecordedStatus& rule) {
  return Json::Object{{"key", rule.key},
                      {"rule", rule.rule},
                      {"status", rule.status},
                      {"message", rule.message},
                      {"last_modified", rule.last_modified},
                      {"last_step", rule.last_step},
                      {"lag_steps", rule.lag_steps},
                      {"lag_seconds", rule.lag_seconds}};
}

Json to_json(const RunPage::Attempt& attempt) {
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
                      {"cost", std::move(cost)}};
}

}  // namespace

std::string cost_text(const RunPage& page) {
  if (!page.attempt) return "";
  const auto& cost = page.attempt->cost;
  const auto spent = cost.find("step_thread_seconds");
  if (spent == cost.end()) return "";
  std::string text = seconds_text(spent->second);
  if (const auto steps = cost.find("steps"); steps != cost.end()) {
    text +=
        " in " + count_text(static_cast<std::uint64_t>(steps->second), "step");
  }
  if (const auto run = cost.find("run_seconds");
      run != cost.end() && run->second > 0) {
    text += fmt::format(", {:.2g} % of {}", 100 * spent->second / run->second,
                        seconds_text(run->second));
  }
  return text;
}

std::string python_lines(const RunPage& page) {
  return "from smdebug.trials import create_trial\n"
         "trial = create_trial(" +
         python_string(page.location) + ")\n";
}

std::string run_page_text(const RunPage& page) {
  TextTable table({"", ""});
  table.add({"run", page.location});
  table.add({"state", state_text(page)});
  add_attempt(page, table);
  table.add({"steps", steps_text(page)});
  table.add({"workers", names_text(page.workers)});
  table.add({"tensors", std::to_string(page.tensors)});
  for (const auto& collection : page.collections) {
    table.add({"  " + collection.name,
               fmt::format("{}: {}", collection.tensors.size(),
                           names_text(collection.tensors))});
  }
  for (const RunPage::LossCourse& loss : page.losses) {
    table.add(
        {"loss",
         fmt::format("{} {} to {} in {} ({})", loss.tensor,
                     number_text(loss.first), number_text(loss.last),
                     count_text(loss.steps, "step"), mode_name(loss.mode))});
  }
  table.add({"size", bytes_text(page.bytes)});
  if (const auto cost = cost_text(page); !cost.empty()) {
    table.add({"cost", cost});
  }
  add_rules(page, table);
  add_damage(page, table);
  return table.text();
}

std::string run_page_json(const RunPage& page) {
  Json json;
  json["run"] = page.location;
  json["ended"] = page.has_ended;
  json["framework"] = page.framework;
  json["steps"] = page.steps;
  json["modes"] = Json::Array();
  for (const RunPage::ModeSteps& mode : page.modes) {
    json["modes"].append(Json::Object{{"mode", mode_name(mode.mode)},
                                      {"steps", mode.steps},
                                      {"first", mode.first},
                                      {"last", mode.last}});
  }
  json["workers"] = to_json(page.workers);
  json["tensors"] = page.tensors;
  json["collections"] = Json::Array();
  for (const auto& collection : page.collections) {
    json["collections"].append(Json::Object{
        {"name", collection.name}, {"tensors", to_json(collection.tensors)}});
  }
  json["losses"] = Json::Array();
  for (const RunPage::LossCourse& loss : page.losses) {
    json["losses"].append(Json::Object{{"tensor", loss.tensor},
                                       {"mode", mode_name(loss.mode)},
                                       {"steps", loss.steps},
                                       {"first", loss.first},
                                       {"last", loss.last}});
  }
  json["bytes"] = page.bytes;
  json["attempts"] = page.attempts;
  json["attempt"] = page.attempt ? to_json(*page.attempt) : Json();
  json["dropped_tensors"] = page.dropped_tensors;
  json["rules"] = Json::Array();
  for (const RecordedStatus& rule : page.rules) {
    json["rules"].append(to_json(rule));
  }
  json["damage"] = Json::Array();
  for (const Damage& damage : page.damage) {
    json["damage"].append(
        Json::Object{{"file", damage.key}, {"what", damage.what}});
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
