// Bindings of include/smdebug/actions: action strings as values, and an action
// that is performed. The classes with the original's names are written in
// Python over these (smdebug/rules/action).

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "smdebug/actions/perform_once.h"
#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/read/trial.h"
#include "smdebug/store/open_storage.h"

#include "bindings.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

using KindAndTarget = std::pair<std::string, std::string>;
using ListAndRefused =
    std::pair<std::vector<KindAndTarget>, std::vector<std::string>>;

Result<ListAndRefused> parse(const std::string& text) {
  SMD_TRY(ParsedActions parsed, parse_action_string(text));
  ListAndRefused all;
  all.second = std::move(parsed.refused);
  for (const ActionRequest& action : parsed.actions) {
    all.first.emplace_back(action_kind_name(action.kind), action.target);
  }
  return all;
}

// The record beside the run, if there is one.
RecordPlace record_place(Trial* trial, const std::string& rule,
                         std::shared_ptr<Storage>& storage) {
  RecordPlace place;
  place.rule = rule_key(rule, 0);
  if (!trial) return place;
  if (auto opened = open_storage(trial->location())) {
    storage = *std::move(opened);
    place.storage = storage.get();
    place.attempt = trial->attempt();
  }
  return place;
}

Result<KindAndTarget> perform(const KindAndTarget& request,
                              const std::string& rule,
                              const std::string& message, Step step,
                              Trial* trial) {
  const nb::gil_scoped_release without_gil;
  ActionRequest asked;
  asked.target = request.second;
  for (const ActionKind kind :
       {ActionKind::stop, ActionKind::email, ActionKind::sms,
        ActionKind::webhook, ActionKind::command}) {
    if (action_kind_name(kind) == request.first) asked.kind = kind;
  }
  ActionSettings settings = action_settings_from_environment(default_logger());
  settings.stop_training = [trial] {
    return stop_writer(trial, system_clock());
  };
  SMD_TRY(const auto action, make_action(std::move(asked), settings));
  Alert alert;
  alert.run = trial ? trial->location() : "";
  alert.wall_seconds = system_clock().wall_seconds();
  alert.verdict.rule = rule;
  alert.verdict.status = RuleStatus::issues_found;
  alert.verdict.step.global = step;
  alert.verdict.message = message;
  std::shared_ptr<Storage> storage;
  ActionResult result =
      perform_once(*action, alert, record_place(trial, rule, storage));
  return KindAndTarget{action_status_name(result.status),
                       std::move(result.message)};
}

}  // namespace

void bind_actions(nb::module_& m) {
  m.def("parse_action_string", &parse, "text"_a,
        "Returns the actions of an action string as (kind, target), and a "
        "sentence for each entry that is not an action.");
  m.def("perform_action", &perform, "action"_a, "rule"_a, "message"_a, "step"_a,
        "trial"_a.none(),
        "Performs an action (kind, target) once, and returns its status and a "
        "sentence.");
}

}  // namespace smdebug
