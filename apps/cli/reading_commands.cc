// The sub-commands that only read: show, tensor, explain and rules.

#include "smdebug/actions/rule_watch.h"
#include "smdebug/base/escape.h"
#include "smdebug/report/explanation.h"
#include "smdebug/report/model_table.h"
#include "smdebug/report/rule_list.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/report/tensor_table.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/store/open_storage.h"

#include "commands.h"
#include "find_runs.h"
#include "run_location.h"

namespace smdebug {
namespace {

// Opens the run of a command with a tensor, and notices swapped arguments. Says
// that tensors may be missing because another process also wrote to the run.
Result<std::unique_ptr<Trial>> open_run_of(const std::string& run,
                                           const std::string& tensor,
                                           const Console& console) {
  auto trial = open_run(run, console);
  if (trial) {
    if (const auto refused = (*trial)->refused_writer()) {
      console.err << "smdebug: run '" << printable(run)
                  << "': " << printable(*refused) << std::endl;
    }
    return trial;
  }
  if (trial.error().code != Error::Code::not_found) return trial;
  if (!responds(tensor) || !is_run_folder(tensor)) return trial;
  return Error{Error::Code::invalid_argument,
               "no run at '" + run + "', but '" + tensor +
                   "' is a run: name the run first"};
}

}  // namespace

namespace {

// smdebug show --model RUN
int show_model(Trial& trial, bool json, const Console& console) {
  const std::vector<WorkerFacts> facts = trial.facts();
  if (facts.empty()) {
    for (const Damage& damage : trial.damage()) {
      if (!damage.key.starts_with("facts")) continue;
      return console.fail(
          {Error::Code::corrupt, "the model of run '" + trial.location() +
                                     "' cannot be read: " + damage.key + ": " +
                                     damage.what});
    }
    const std::string framework = trial.framework();
    const std::string recorded =
        framework.empty() ? "" : " (recorded with " + framework + ")";
    return console.fail(
        {Error::Code::not_found,
         "run '" + trial.location() + "'" + recorded +
             " does not describe its model; hooks for PyTorch, Keras and MXNet "
             "describe it at the first saved step in which an optimizer acts, "
             "and XGBoost has no such model; "
             "'smdebug show' without --model shows the rest"});
  }
  console.out << (json ? model_json(facts) : model_text(facts));
  return kExitNothingFound;
}

}  // namespace

// smdebug show RUN
int run(const ShowCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  if (command.model) return show_model(**trial, command.json, console);
  auto overview = read_run_overview(**trial);
  if (!overview) return console.fail(overview.error());
  if (const auto storage = open_storage((*trial)->location())) {
    // If the run cannot be listed, the overview already reports it.
    std::vector<SkippedStatus> skipped;
    if (auto rules = read_recorded_statuses(**storage, &skipped)) {
      overview->rules = *std::move(rules);
    }
    for (SkippedStatus& status : skipped) {
      overview->damage.push_back(
          {std::move(status.key), std::move(status.what)});
    }
  }
  console.out << (command.json ? run_overview_json(*overview)
                               : run_overview_text(*overview));
  return kExitNothingFound;
}

// smdebug tensor RUN NAME [STEP]
int run(const TensorCommand& command, const Console& console) {
  const auto trial = open_run_of(command.run, command.tensor, console);
  if (!trial) return console.fail(trial.error());
  TensorQuery query;
  query.tensor = command.tensor;
  query.step = command.step;
  query.mode = command.mode;
  query.worker = command.worker;
  const auto table = read_tensor_table(**trial, query);
  if (!table) return console.fail(table.error());
  console.out << (command.json ? tensor_table_json(*table)
                               : tensor_table_text(*table));
  return table->has_unreadable() ? kExitError : kExitNothingFound;
}

// smdebug explain RUN NAME [STEP]
int run(const ExplainCommand& command, const Console& console) {
  const auto trial = open_run_of(command.run, command.tensor, console);
  if (!trial) return console.fail(trial.error());
  const auto explanation =
      explain_tensor(**trial, {command.tensor, command.step, command.mode});
  if (!explanation) return console.fail(explanation.error());
  console.out << (command.json ? explanation_json(*explanation)
                               : explanation_text(*explanation));
  return (*trial)->has_tensor(command.tensor) ? kExitNothingFound : kExitError;
}

// smdebug rules [NAME]
int run(const RulesCommand& command, const Console& console) {
  if (!command.rule) {
    console.out << (command.json ? rules_json(builtin_rules())
                                 : rules_text(builtin_rules()));
    return kExitNothingFound;
  }
  const RuleFactory* rule = find_builtin_rule(*command.rule);
  if (!rule) {
    return console.fail({Error::Code::invalid_argument,
                         make_builtin_rule(*command.rule, {}).error().message});
  }
  console.out << (command.json ? rules_json({rule, 1}) : rule_text(*rule));
  return kExitNothingFound;
}

}  // namespace smdebug
