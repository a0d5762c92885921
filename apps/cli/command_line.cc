#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "smdebug/base/version.h"

namespace smdebug {
namespace {

// `--rule NAME`, any number of times, each followed by its `--set key=value`.
void add_rules(CLI::App& app, std::vector<RuleRequest>& rules) {
  app.add_option_function<std::string>(
         "--rule",
         [&rules](const std::string& name) {
           rules.push_back({name, {}});
         },
         "A rule by name ('smdebug rules' lists them), or file.py:Class; "
         "may be repeated")
      ->type_name("NAME")
      ->trigger_on_parse();
  app.add_option_function<std::string>(
         "--set",
         [&rules](const std::string& text) {
           const auto equals = text.find('=');
           if (equals == std::string::npos || equals == 0) {
             throw CLI::ValidationError("--set",
                                        "'" + text + "' should be key=value");
           }
           if (rules.empty()) {
             throw CLI::ValidationError(
                 "--set", "'" + text + "' belongs behind the --rule it is for");
           }
           rules.back().given[text.substr(0, equals)] = text.substr(equals + 1);
         },
         "A parameter of the rule before it")
      ->type_name("KEY=VALUE")
      ->trigger_on_parse();
}

// `--action KIND[=TARGET]`, any number of times.
void add_actions(CLI::App& app, std::vector<ActionRequest>& actions) {
  app.add_option_function<std::string>(
         "--action",
         [&actions](const std::string& text) {
           auto action = parse_action(text);
           if (!action) {
             throw CLI::ValidationError("--action", action.error().message);
           }
           actions.push_back(*std::move(action));
         },
         "What to do when a rule fires: stop, webhook=URL, email=ADDRESS, "
         "sms=NUMBER, command=PROGRAM; may be repeated")
      ->type_name("ACTION")
      ->trigger_on_parse();
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print JSON to standard output");
}

// The sub-commands with the values that CLI11 writes into.
struct Grammar {
  CLI::App app{"Records tensors while a model trains, and says what goes wrong",
               "smdebug"};
  RunCommand run;
  WatchCommand watch;
  CheckCommand check;
  ShowCommand show;
  TensorCommand tensor;
  std::string mode;
  ExplainCommand explain;
  ReportCommand report;
  RulesCommand rules;

  Grammar();
  Result<Command> chosen();

 private:
  void add_run();
  void add_watch();
  void add_check();
  void add_show();
  void add_tensor();
  void add_explain();
  void add_report();
  void add_rules_command();
};

Grammar::Grammar() {
  app.require_subcommand(1);
  app.set_version_flag("--version", "smdebug " + std::string(kVersion));
  app.footer(
      "Exit code: 0 nothing found, 3 a rule fired, 1 an error, 2 a command "
      "line that\nmakes no sense; under 'run' the trainer's own code where it "
      "failed by itself.");
  add_run();
  add_watch();
  add_check();
  add_show();
  add_tensor();
  add_explain();
  add_report();
  add_rules_command();
}

void Grammar::add_run() {
  CLI::App& command = *app.add_subcommand(
      "run", "Start a training, record it, and judge it while it runs");
  command.footer(
      "The training stands behind '--': smdebug run --rule VanishingGradient "
      "--set\nthreshold=1e-8 --stop -- python train.py --epochs 3");
  command.add_option("--out", run.out,
                     "Where to record; by default "
                     "./smdebug-runs/<script>-<time>");
  add_rules(command, run.rules);
  add_actions(command, run.actions);
  command.add_flag("--stop", run.stop,
                   "End the training when a rule fires: --action stop");
  add_json(command, run.json);
}

void Grammar::add_watch() {
  CLI::App& command = *app.add_subcommand(
      "watch", "Judge a run while it is recorded, until it ends");
  command.add_option("RUN", watch.run, "The run")->required();
  add_rules(command, watch.rules);
  add_actions(command, watch.actions);
  command
      .add_option("--timeout", watch.timeout_seconds,
                  "Seconds without a new step after which to give up")
      ->check(CLI::NonNegativeNumber);
  add_json(command, watch.json);
}

void Grammar::add_check() {
  CLI::App& command = *app.add_subcommand("check", "Judge recorded runs");
  command.add_option("RUN", check.runs, "The runs")->required();
  add_rules(command, check.rules);
  add_actions(command, check.actions);
  add_json(command, check.json);
}

void Grammar::add_show() {
  CLI::App& command = *app.add_subcommand(
      "show", "Show what a run holds, what it cost and what is broken");
  command.add_option("RUN", show.run, "The run")->required();
  add_json(command, show.json);
}

void Grammar::add_tensor() {
  CLI::App& command = *app.add_subcommand(
      "tensor", "Show a tensor over the steps of a run, or at one step");
  command.add_option("RUN", tensor.run, "The run")->required();
  command.add_option("NAME", tensor.tensor, "The tensor")->required();
  command.add_option("--step", tensor.step, "A step of the mode");
  command.add_option("--mode", mode, "TRAIN, EVAL, PREDICT or GLOBAL");
  command.add_option("--worker", tensor.worker, "One worker of several");
  add_json(command, tensor.json);
}

void Grammar::add_explain() {
  CLI::App& command = *app.add_subcommand(
      "explain", "Say why a tensor was, or was not, saved at a step");
  command.add_option("RUN", explain.run, "The run")->required();
  command.add_option("NAME", explain.tensor, "The tensor")->required();
  command.add_option("STEP", explain.step, "A step of the mode; none: all");
  command.add_option("--mode", mode, "TRAIN, EVAL, PREDICT or GLOBAL");
  add_json(command, explain.json);
}

void Grammar::add_report() {
  CLI::App& command = *app.add_subcommand(
      "report", "Write the report of an XGBoost training: one HTML file");
  command.add_option("RUN", report.run, "The run")->required();
  command.add_option("--out", report.out,
                     "The HTML file, with its data as JSON beside it; by "
                     "default rule-output/CreateXgboostReport/"
                     "xgboost_report.html in the run");
  command.add_flag("--json", report.json,
                   "Print the data as JSON; a file is written for --out only");
}

void Grammar::add_rules_command() {
  CLI::App& command =
      *app.add_subcommand("rules", "List the rules, or explain one");
  command.add_option("NAME", rules.rule, "The rule to explain");
  add_json(command, rules.json);
}

Result<Command> Grammar::chosen() {
  const std::string name = app.get_subcommands().front()->get_name();
  if (name == "run") return Command(std::move(run));
  if (name == "watch") return Command(std::move(watch));
  if (name == "check") return Command(std::move(check));
  if (name == "show") return Command(std::move(show));
  if (name == "report") return Command(std::move(report));
  if (name == "rules") return Command(std::move(rules));
  if (!mode.empty()) {
    const auto found = find_mode(mode);
    if (!found) {
      return Error{Error::Code::invalid_argument,
                   "--mode: there is no mode '" + mode +
                       "'; there are TRAIN, EVAL, PREDICT and GLOBAL"};
    }
    tensor.mode = explain.mode = *found;
  }
  if (name == "explain") return Command(std::move(explain));
  return Command(std::move(tensor));
}

// CLI11 answers a sub-command that does not exist with "A subcommand is
// required".
Status check_name(CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return {};
  std::string names;
  for (const CLI::App* known :
       app.get_subcommands([](CLI::App*) { return true; })) {
    if (known->get_name() == words.front()) return {};
    names += (names.empty() ? "" : ", ") + known->get_name();
  }
  return Error{
      Error::Code::invalid_argument,
      "there is no command '" + words.front() + "'; there are " + names};
}

}  // namespace

Result<Command> parse_command_line(std::span<const std::string> args) {
  // What follows "--" is the trainer's, whatever it looks like.
  const auto dashes = std::ranges::find(args, "--");
  std::vector<std::string> ours(args.begin(), dashes);
  Grammar grammar;
  SMD_CHECK_OK(check_name(grammar.app, ours));
  std::ranges::reverse(ours);  // as CLI11 takes them
  try {
    grammar.app.parse(std::move(ours));
  } catch (const CLI::CallForVersion& request) {
    return Command(HelpRequest{std::string(request.what()) + "\n"});
  } catch (const CLI::CallForHelp&) {
    return Command(HelpRequest{grammar.app.help()});
  } catch (const CLI::ParseError& failure) {
    return Error{Error::Code::invalid_argument, failure.what()};
  }
  SMD_TRY(Command command, grammar.chosen());
  auto* run = std::get_if<RunCommand>(&command);
  if (run && dashes != args.end()) {
    run->trainer.assign(dashes + 1, args.end());
  }
  if (run && run->trainer.empty()) {
    return Error{Error::Code::invalid_argument,
                 "run: what is to be run stands behind '--', as in 'smdebug "
                 "run -- python train.py'"};
  }
  if (!run && dashes != args.end()) {
    return Error{Error::Code::invalid_argument,
                 "'--' has a meaning under 'run' alone"};
  }
  return command;
}

}  // namespace smdebug
