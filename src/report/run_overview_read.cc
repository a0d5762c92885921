// Collects what the page of a run shows.

#include <algorithm>
#include <set>

#include "smdebug/report/run_overview.h"

#include "base/json.h"

namespace smdebug {
namespace {

template <typename T>
using Found = std::optional<T>;

std::string text_of(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  const std::string* text = member ? member->as_string() : nullptr;
  return text ? *text : "";
}

Found<double> number_of(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  return member ? member->as_double() : std::nullopt;
}

RunPage::Attempt attempt_of(const Json& json) {
  RunPage::Attempt attempt;
  attempt.host = text_of(json, "host");
  if (const Json* pid = json.find("pid")) {
    attempt.process_id = pid->as_int().value_or(0);
  }
  attempt.started_seconds = number_of(json, "started").value_or(0);
  attempt.ended_seconds = number_of(json, "ended");
  attempt.status = text_of(json, "status");
  if (const Json* words = json.find("command"); words && words->as_array()) {
    for (const Json& word : *words->as_array()) {
      if (word.as_string()) attempt.command.push_back(*word.as_string());
    }
  }
  if (const Json* versions = json.find("versions");
      versions && versions->as_object()) {
    for (const auto& [name, version] : *versions->as_object()) {
      if (version.as_string()) attempt.versions[name] = *version.as_string();
    }
  }
  if (const Json* cost = json.find("cost"); cost && cost->as_object()) {
    for (const auto& [name, amount] : *cost->as_object()) {
      if (amount.as_double()) attempt.cost[name] = *amount.as_double();
    }
  }
  return attempt;
}

// A run.json that is not ours, or is damaged, is damage and no failure.
void read_run_file(Trial& trial, RunPage& page) {
  const auto text = trial.run_file_text();
  if (!text) {
    if (text.error().code != Error::Code::not_found) {
      page.damage.push_back({"run.json", text.error().message});
    }
    return;
  }
  const auto json = Json::parse(*text);
  if (!json) {
    page.damage.push_back({"run.json", json.error().message});
    return;
  }
  page.framework = text_of(*json, "framework");
  const Json* attempts = json->find("attempts");
  if (!attempts || !attempts->as_array()) return;
  page.attempts = attempts->as_array()->size();
  if (page.attempts > 0) {
    page.attempt = attempt_of(attempts->as_array()->back());
  }
}

void read_modes(Trial& trial, RunPage& page) {
  std::vector<Mode> modes = trial.modes();
  if (modes.empty()) modes.push_back(Mode::global);
  for (const Mode mode : modes) {
    const std::vector<Step> steps = trial.steps(mode);
    if (steps.empty()) continue;
    page.modes.push_back({mode, steps.size(), steps.front(), steps.back()});
  }
}

void read_collections(Trial& trial, RunPage& page) {
  for (const Collection& collection : trial.collections()) {
    TensorNameQuery query;
    query.collection = collection.name();
    auto names = trial.tensor_names(query);
    if (!names || names->empty()) continue;
    page.collections.push_back({collection.name(), *std::move(names)});
  }
}

// The number a loss was at `step`; none where it is not one number.
Found<double> loss_at(Tensor& tensor, Step step, Mode mode) {
  const auto loss =
      tensor.reduction({step, mode, std::nullopt}, {Reduction::mean, false});
  return loss ? Found<double>(*loss) : std::nullopt;
}

void read_losses(Trial& trial, RunPage& page) {
  std::set<std::string> names;
  for (const auto& collection : page.collections) {
    if (collection.name != "losses") continue;
    names.insert(collection.tensors.begin(), collection.tensors.end());
  }
  for (const std::string& name : names) {
    auto tensor = trial.tensor(name);
    if (!tensor) continue;
    for (const RunPage::ModeSteps& mode : page.modes) {
      const std::vector<Step> steps = tensor->steps(mode.mode);
      if (steps.empty()) continue;
      const auto first = loss_at(*tensor, steps.front(), mode.mode);
      const auto last = loss_at(*tensor, steps.back(), mode.mode);
      if (!first || !last) continue;
      page.losses.push_back({name, mode.mode, steps.size(), *first, *last});
    }
  }
}

}  // namespace

Result<RunPage> read_run_page(Trial& trial) {
  SMD_CHECK_OK(trial.refresh());
  RunPage page;
  page.location = trial.location();
  page.has_ended = trial.has_ended();
  page.steps = trial.steps().size();
  page.workers = trial.workers();
  page.tensors = trial.tensor_names().size();
  SMD_TRY(page.bytes, trial.bytes());
  read_run_file(trial, page);
  read_modes(trial, page);
  read_collections(trial, page);
  read_losses(trial, page);
  page.dropped_tensors = trial.dropped_tensors();
  const std::vector<Damage> damage = trial.damage();
  page.damage.insert(page.damage.end(), damage.begin(), damage.end());
  return page;
}

}  // namespace smdebug
