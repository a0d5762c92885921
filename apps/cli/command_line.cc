#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "smdebug/base/try.h"
#include "smdebug/base/version.h"

namespace smdebug {
namespace {

constexpr std::string_view kOptionsWithoutCommand[] = {"--help", "-h",
                                                       "--version"};

double parse_seconds(const std::string& text) {
  double seconds = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
  if (failure != std::errc() || stop != end || !std::isfinite(seconds) ||
      seconds < 0) {
    throw CLI::ValidationError(
        "--timeout", "'" + text + "' should be a number of seconds such as 60");
  }
  return seconds;
}

Step parse_step(const std::string& name, const std::string& text) {
  Step step = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, step);
  if (failure != std::errc() || stop != end || step < 0) {
    throw CLI::ValidationError(
        name, "'" + text + "' should be a whole number from 0");
  }
  return step;
}

void add_step(CLI::App& app, const std::string& names, std::string shown,
              const std::string& meaning, std::optional<Step>& step) {
  app.add_option_function<std::string>(
         names,
         [&step, shown = std::move(shown)](const std::string& text) {
           step = parse_step(shown, text);
         },
         meaning)
      ->type_name("INT");
}

std::string check_has_name(const std::string& path) {
  return path.empty() ? "the name is empty" : "";
}

// "smdebug tensor RUN NAME".
std::string usage_of(const CLI::App& command) {
  std::string text = "smdebug " + command.get_name();
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const bool repeats = option->get_expected_max() > 1;
    const std::string name =
        option->get_name(/*positional=*/true) + (repeats ? "..." : "");
    text += option->get_required() ? " " + name : " [" + name + "]";
  }
  return text;
}

// Replaces CLI11's words for an option with too many values or too few.
std::string mismatch_text(const std::string& text) {
  const std::string option = text.substr(0, text.find_first_of(": "));
  return option + (text.find("At Most") != text.npos
                       ? ": give only one value"
                       : ": its value is missing");
}

// Replaces CLI11's "RUN is required".
std::string missing_text(const CLI::App& command, const std::string& text) {
  const std::string name = text.substr(0, text.find(' '));
  return command.get_name() + ": " + name +
         " is missing; use: " + usage_of(command) +
         (name == "RUN"    ? "; 'smdebug ls' lists the runs below a folder"
          : name == "NAME" ? "; 'smdebug show RUN' lists the names"
                           : "");
}

// Hides what the user passed as a URL: CLI11 quotes arguments that it does not
// know, and one may be a mistyped action with a secret in its URL.
std::string without_secrets(std::string text,
                            std::span<const std::string> args) {
  for (const std::string& arg : args) {
    for (const std::string_view mark : {"://", "webhook="}) {
      const auto begin = arg.find(mark);
      if (begin == arg.npos) continue;
      const std::string secret = arg.substr(begin);
      if (secret.size() == mark.size()) continue;
      const std::string shown = std::string(mark) + "…";
      for (auto at = text.find(secret); at != text.npos;
           at = text.find(secret, at + shown.size())) {
        text.replace(at, secret.size(), shown);
      }
    }
  }
  return text;
}

// Adds the exit codes of `command` behind its options. Without them, CLI11
// repeats the footer of the program.
void add_exit_codes(CLI::App& command, const std::string& success,
                    const std::string& failure) {
  command.footer("Exit codes: 0 " + success + ", 1 " + failure +
                 ", 2 wrong usage");
}

constexpr const char* kJudgingExitCodes =
    "Exit codes: 0 no rule fired, 3 a rule fired, 1 error, damage or nothing "
    "could be\njudged, 2 wrong usage. Without --rule, advice does not count as "
    "a rule that fired.\n\n"
    "Without --rule, the default rules judge with tuned parameters; rules that "
    "you name\nuse the documented ones unless --set preset=tuned follows.";

std::string default_rule_names() {
  std::string names;
  for (const RuleRequest& request : default_rules()) {
    names += (names.empty() ? "" : ", ") + request.rule;
  }
  return names;
}

// `--rule NAME`, any number of times, each followed by its `--set key=value`.
void add_rules(CLI::App& app, std::vector<RuleRequest>& rules) {
  app.add_option_function<std::string>(
         "--rule",
         [&rules](const std::string& name) {
           rules.push_back({name, {}});
         },
         "Rule to evaluate: a name ('smdebug rules' lists them) or "
         "file.py:Class; repeatable")
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
                 "--set",
                 "'" + text + "' must follow the --rule that it applies to");
           }
           const std::string key =
               CLI::detail::trim_copy(text.substr(0, equals));
           const std::string value =
               CLI::detail::trim_copy(text.substr(equals + 1));
           const auto [first, is_new] =
               rules.back().given.try_emplace(key, value);
           if (!is_new) {
             throw CLI::ValidationError(
                 "--set", "'" + key + "' of rule '" + rules.back().rule +
                              "' is given twice, as '" + first->second +
                              "' and '" + value + "'; give only one value");
           }
         },
         "Parameter of the preceding --rule; repeatable")
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
         "Action when a rule fires: stop, stop=PREFIX of a job in the cloud, "
         "webhook=URL, webhook=@FILE with the URL in a file, webhook with the "
         "URL in SMDEBUG_WEBHOOK_URL, email=ADDRESS, sms=NUMBER or "
         "command=PROGRAM; repeatable")
      ->type_name("ACTION")
      ->trigger_on_parse();
}

void add_detail(CLI::App& app, Detail& detail) {
  CLI::Option* const quiet = app.add_flag_callback(
      "--quiet", [&detail] { detail = Detail::quiet; },
      "Print only findings and problems");
  app.add_flag_callback(
         "--verbose", [&detail] { detail = Detail::verbose; },
         "Print the evidence of findings, and each rule with its message")
      ->excludes(quiet);
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print JSON to standard output");
}

// CLI11 does not know what follows '--'.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] -- COMMAND [ARGUMENT]...\n";
  }
};

// The sub-commands with the values that CLI11 writes into.
struct Grammar {
  CLI::App app{
      "Records tensors while a model trains and reports what goes wrong",
      "smdebug"};
  RunCommand run;
  WatchCommand watch;
  CheckCommand check;
  ShowCommand show;
  TensorCommand tensor;
  std::string mode;
  ExplainCommand explain;
  ReportCommand report;
  LsCommand ls;
  RmCommand rm;
  PackCommand pack;
  ExportCommand to_file;
  SqlCommand sql;
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
  void add_ls();
  void add_rm();
  void add_pack();
  void add_export();
  void add_sql();
  void add_rules_command();
};

Grammar::Grammar() {
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.footer(
      "Exit codes: 0 no rule fired, 3 a rule fired, 1 error, 2 wrong usage. If "
      "the\ntraining fails under 'run', its own exit code is returned.");
  add_run();
  add_watch();
  add_check();
  add_show();
  add_tensor();
  add_explain();
  add_report();
  add_ls();
  add_rm();
  add_pack();
  add_export();
  add_sql();
  add_rules_command();
}

void Grammar::add_run() {
  CLI::App& command = *app.add_subcommand(
      "run", "Start a training, record it and evaluate rules while it runs");
  command.formatter(std::make_shared<RunFormatter>());
  command.footer(
      "Put the training command after '--':\n"
      "smdebug run --rule VanishingGradient --set threshold=1e-8 --stop -- "
      "python train.py\n\n"
      "Without --rule, the default rules judge: " +
      default_rule_names() +
      ".\nThey use their tuned parameters; those that do not apply to the "
      "training are ignored.\n\n"
      "The first 5 steps of each mode and every 10th step are saved, or as "
      "often as a rule asks for,\nand the 3 steps after a leap of the loss or "
      "of a gradient.\n\n"
      "Exit codes: 3 if a rule ended the training; that of the training if it "
      "fails;\nelse 3 if a rule fired, 1 if nothing could be recorded or "
      "judged, 2 for wrong\nusage, 0 if no rule fired. Without --rule, advice "
      "does not count as a rule\nthat fired.");
  command
      .add_option(
          "--out", run.out,
          "Folder to record to; default: ./smdebug-runs/<script>-<time>")
      ->check(check_has_name, "");
  add_rules(command, run.rules);
  add_actions(command, run.actions);
  command.add_flag("--stop", run.stop,
                   "End the training when a rule fires; same as --action stop. "
                   "Without --rule, only findings that break a training end "
                   "it");
  command.add_flag("--private", run.is_private,
                   "Let only the owner read the files of the run");
  add_detail(command, run.detail);
  add_json(command, run.json);
}

void Grammar::add_watch() {
  CLI::App& command = *app.add_subcommand(
      "watch", "Evaluate rules on a run while it is recorded, until it ends");
  command.footer(kJudgingExitCodes);
  command.add_option("RUN", watch.run, "The run")->required();
  add_rules(command, watch.rules);
  add_actions(command, watch.actions);
  command
      .add_option_function<std::string>(
          "--timeout",
          [this](const std::string& text) {
            watch.timeout_seconds = parse_seconds(text);
          },
          "Give up after this many seconds without a new step; default: never")
      ->type_name("SECONDS");
  add_detail(command, watch.detail);
  add_json(command, watch.json);
}

void Grammar::add_check() {
  CLI::App& command =
      *app.add_subcommand("check", "Evaluate rules on recorded runs");
  command.footer(kJudgingExitCodes);
  command
      .add_option("RUN", check.runs,
                  "The runs; 'FOLDER/*', in quotes, stands for those below a "
                  "folder or a prefix")
      ->required();
  add_rules(command, check.rules);
  add_actions(command, check.actions);
  command
      .add_option("--ray", check.ray,
                  "Judge the runs on a Ray cluster: its address, such as "
                  "head:6379 or ray://head:10001, or 'local' for the "
                  "processors of this machine")
      ->type_name("ADDRESS")
      ->check(check_has_name, "");
  add_detail(command, check.detail);
  add_json(command, check.json);
}

void Grammar::add_show() {
  CLI::App& command = *app.add_subcommand(
      "show", "Show the contents of a run, its overhead and any damage");
  add_exit_codes(command, "shown", "no run, or it cannot be read");
  command.add_option("RUN", show.run, "The run")->required();
  command.add_flag("--model", show.model,
                   "Show what the training consists of instead: parameters, "
                   "optimizers, modules and losses (PyTorch, Keras and "
                   "MXNet)");
  add_json(command, show.json);
}

void Grammar::add_tensor() {
  CLI::App& command = *app.add_subcommand(
      "tensor", "Show a tensor at all steps of a run or at one step");
  add_exit_codes(command, "shown",
                 "no such run, tensor or step, or a value cannot be read");
  command.add_option("RUN", tensor.run, "The run")->required();
  command.add_option("NAME", tensor.tensor, "The tensor")->required();
  add_step(command, "STEP,--step", "STEP", "A step of the mode; default: all",
           tensor.step);
  command.add_option("--mode", mode,
                     "TRAIN, EVAL, PREDICT or GLOBAL; default: GLOBAL");
  command.add_option("--worker", tensor.worker, "Show only this worker");
  add_json(command, tensor.json);
}

void Grammar::add_explain() {
  CLI::App& command = *app.add_subcommand(
      "explain", "Explain why a tensor was saved or not saved at a step");
  add_exit_codes(command, "explained", "no such run or tensor");
  command.add_option("RUN", explain.run, "The run")->required();
  command.add_option("NAME", explain.tensor, "The tensor")->required();
  add_step(command, "STEP,--step", "STEP", "A step of the mode; default: all",
           explain.step);
  command.add_option("--mode", mode,
                     "TRAIN, EVAL, PREDICT or GLOBAL; default: GLOBAL");
  add_json(command, explain.json);
}

void Grammar::add_report() {
  CLI::App& command = *app.add_subcommand(
      "report", "Write the report of an XGBoost training as one HTML file");
  add_exit_codes(command, "written",
                 "no run of XGBoost, or it cannot be read or written");
  command.add_option("RUN", report.run, "The run")->required();
  command
      .add_option(
          "--out", report.out,
          "HTML file to write, with its data in a JSON file beside it; "
          "default: "
          "rule-output/CreateXgboostReport/xgboost_report.html in the run")
      ->check(check_has_name, "");
  command.add_flag("--json", report.json,
                   "Print the data as JSON; write files only with --out");
}

void Grammar::add_ls() {
  CLI::App& command =
      *app.add_subcommand("ls", "List the runs below a folder, newest first");
  add_exit_codes(command, "listed", "the folder cannot be read");
  command.add_option("FOLDER", ls.folder,
                     "The folder; default: ./smdebug-runs if it exists, "
                     "otherwise the working directory");
  add_json(command, ls.json);
}

void Grammar::add_rm() {
  CLI::App& command = *app.add_subcommand(
      "rm",
      "Remove runs, after asking; keeps files that are not part of a run");
  add_exit_codes(command, "removed",
                 "no such run, not removed, or the answer was no");
  command.add_option("RUN", rm.runs, "The runs")->required();
  command.add_flag("--yes,-y", rm.yes,
                   "Do not ask; required if standard input is not a terminal");
  command.add_flag("--force", rm.force,
                   "Also remove a run that may still be written");
}

void Grammar::add_pack() {
  CLI::App& command = *app.add_subcommand(
      "pack", "Write the statistics files that runs lack, to open them faster");
  add_exit_codes(command, "packed", "no such run, or not packed");
  command.add_option("RUN", pack.runs, "The runs")->required();
}

void Grammar::add_export() {
  CLI::App& command = *app.add_subcommand(
      "export", "Write the statistics or the tensors of a run to a file");
  command.footer(
      "Formats:\n"
      "  csv, arrow, parquet  the statistics: a row per tensor, step and "
      "worker\n"
      "  npz, safetensors     the tensors of one step\n\n"
      "Exit codes: 0 written, 1 not written, or a part of the run could not "
      "be read,\n2 wrong usage");
  command.add_option("RUN", to_file.run, "The run")->required();
  command.add_option("--format", to_file.format, "The format of the file")
      ->required()
      ->type_name("FORMAT");
  command
      .add_option("--out", to_file.out,
                  "File to write; default: the name of the run with the "
                  "format, in the working directory")
      ->check(check_has_name, "");
  command
      .add_option("--tensor", to_file.tensors,
                  "Regular expression: only tensors whose name matches; "
                  "repeatable")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  add_step(command, "--step", "STEP",
           "A step of the mode; default: all, or the last one for tensors",
           to_file.step);
  command.add_option("--mode", mode,
                     "TRAIN, EVAL, PREDICT or GLOBAL; default: GLOBAL");
}

void Grammar::add_sql() {
  CLI::App& command =
      *app.add_subcommand("sql", "Answer a question about runs in SQL");
  command.footer(
      "smdebug sql \"select run, max(l2) from statistics\n"
      "             where tensor like 'gradient/%' group by run\" runs\n\n"
      "Tables:\n"
      "  statistics  a row per tensor, step and worker: run, tensor, "
      "collection, step,\n"
      "              mode, mode_step, worker, dtype, shape, bytes, count, "
      "nan,\n"
      "              positive_inf, negative_inf, zeros, min, max, mean, std, "
      "l1, l2,\n"
      "              l2_over_median (l2, over its median in the run)\n"
      "  scalars     a row per step of a loss, a learning rate and other "
      "series: run,\n"
      "              name, step, mode, mode_step, worker, value\n\n"
      "The language is that of SQLite, with the aggregate median(x) and with\n"
      "tensor regexp 'pattern'.\n\n"
      "Exit codes: 0 answered, 1 a run or a part of one could not be read, 2 "
      "wrong usage");
  command.add_option("QUERY", sql.query, "One SELECT")->required();
  command
      .add_option("RUN", sql.runs,
                  "The runs, or folders of runs: FOLDER or 'FOLDER/*'")
      ->required();
  CLI::Option* const csv =
      command.add_flag("--csv", sql.csv, "Print CSV to standard output");
  command.add_flag("--json", sql.json, "Print JSON to standard output")
      ->excludes(csv);
}

void Grammar::add_rules_command() {
  CLI::App& command =
      *app.add_subcommand("rules", "List the rules, or explain one");
  add_exit_codes(command, "listed", "error");
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
  if (name == "ls") return Command(std::move(ls));
  if (name == "rm") return Command(std::move(rm));
  if (name == "pack") return Command(std::move(pack));
  if (name == "sql") return Command(std::move(sql));
  if (name == "rules") return Command(std::move(rules));
  if (!mode.empty()) {
    const auto found = find_mode(mode);
    if (!found) {
      return Error{Error::Code::invalid_argument,
                   "--mode: unknown mode '" + mode +
                       "'; use TRAIN, EVAL, PREDICT or GLOBAL"};
    }
    tensor.mode = explain.mode = to_file.mode = *found;
  }
  if (name == "export") return Command(std::move(to_file));
  if (name == "explain") return Command(std::move(explain));
  return Command(std::move(tensor));
}

// An option before the command: CLI11 takes only its own there.
Status check_first_option(CLI::App& app,
                          const std::vector<std::string>& words) {
  const std::string& first = words.front();
  if (std::ranges::find(kOptionsWithoutCommand, first) !=
      std::end(kOptionsWithoutCommand)) {
    return {};
  }
  const std::string option =
      without_secrets(first.substr(0, first.find('=')), words);
  for (const CLI::App* command :
       app.get_subcommands([](CLI::App*) { return true; })) {
    const auto word = std::ranges::find(words, command->get_name());
    if (word == words.end() || !command->get_option_no_throw(option)) continue;
    return Error{Error::Code::invalid_argument,
                 "option '" + option + "' must follow the command: smdebug " +
                     command->get_name() + " " + option};
  }
  return Error{Error::Code::invalid_argument,
               "unknown option '" + option +
                   "'; before a command, the options are --help and --version"};
}

// For an unknown sub-command, CLI11 only reports that "A subcommand is
// required".
Status check_name(CLI::App& app, const std::vector<std::string>& words) {
  if (!words.empty() && words.front().starts_with('-'))
    return check_first_option(app, words);
  std::string names;
  for (const CLI::App* known :
       app.get_subcommands([](CLI::App*) { return true; })) {
    if (!words.empty() && known->get_name() == words.front()) return {};
    names += (names.empty() ? "" : ", ") + known->get_name();
  }
  if (words.empty()) {
    return Error{Error::Code::invalid_argument,
                 "the command is missing; use one of: " + names};
  }
  return Error{Error::Code::invalid_argument,
               "unknown command '" + without_secrets(words.front(), words) +
                   "'; use one of: " + names};
}

// The likely meaning of an argument behind the options of a rule.
std::string rule_argument_text(const std::string& argument) {
  if (find_builtin_rule(argument)) return "; repeat --rule for each rule";
  const auto equals = argument.find('=');
  const bool is_setting = equals != argument.npos && equals > 0 &&
                          argument.find_first_of("/:") > equals;
  return is_setting ? "; use --set " + argument + " behind its --rule" : "";
}

bool has_unknown_option(const CLI::App& app) {
  return std::ranges::any_of(app.remaining(true), [](const std::string& each) {
    return each.starts_with('-');
  });
}

// CLI11 lists all unknown arguments, in reverse order.
std::string unknown_argument(CLI::App& app, const std::string& command) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto option = std::ranges::find_if(
      extras, [](const std::string& each) { return each.starts_with('-'); });
  if (option == extras.end()) {
    const std::string argument = extras.empty() ? "" : extras.front();
    const bool takes_rules =
        app.get_subcommand(command)->get_option_no_throw("--rule") != nullptr;
    const std::string meant = takes_rules ? rule_argument_text(argument) : "";
    if (!meant.empty()) return "unexpected argument '" + argument + "'" + meant;
    return "unexpected argument '" + argument + "'" +
           (command == "run"
                ? "; the training follows '--', as in: smdebug run -- python "
                  "train.py"
                : "; use: " + usage_of(*app.get_subcommand(command)) +
                      " [OPTION]...");
  }
  std::string known;
  for (const CLI::Option* each : app.get_subcommand(command)->get_options()) {
    for (const std::string& name : each->get_lnames()) {
      known += (known.empty() ? "--" : ", --") + name;
    }
  }
  return "unknown option '" + option->substr(0, option->find('=')) +
         "'; the options are " + known;
}

}  // namespace

bool is_command(std::string_view name) {
  Grammar grammar;
  return std::ranges::any_of(
      grammar.app.get_subcommands([](CLI::App*) { return true; }),
      [&](const CLI::App* known) { return known->get_name() == name; });
}

Result<Command> parse_command_line(std::span<const std::string> args) {
  // Arguments after "--" belong to the trainer.
  const auto dashes = std::ranges::find(args, "--");
  std::vector<std::string> ours(args.begin(), dashes);
  Grammar grammar;
  SMD_CHECK_OK(check_name(grammar.app, ours));
  if (dashes != args.end() && (ours.empty() || ours.front() != "run")) {
    return Error{Error::Code::invalid_argument,
                 "'--' is only allowed with 'run'; omit it"};
  }
  std::ranges::reverse(ours);  // as CLI11 takes them
  try {
    grammar.app.parse(std::move(ours));
  } catch (const CLI::CallForVersion& request) {
    return Command(HelpRequest{std::string(request.what()) + "\n"});
  } catch (const CLI::CallForHelp&) {
    return Command(HelpRequest{grammar.app.help()});
  } catch (const CLI::ExtrasError&) {
    const bool is_run = args.front() == "run" && dashes == args.end();
    return Error{
        Error::Code::invalid_argument,
        args.front() + ": " +
            without_secrets(unknown_argument(grammar.app, args.front()), args) +
            (is_run ? "; put the command to run after '--': smdebug "
                      "run -- python train.py"
                    : "")};
  } catch (const CLI::ArgumentMismatch& failure) {
    return Error{Error::Code::invalid_argument,
                 without_secrets(mismatch_text(failure.what()), args)};
  } catch (const CLI::RequiredError& failure) {
    // In "rm --all", the mistake is the option.
    const std::string text =
        has_unknown_option(grammar.app)
            ? args.front() + ": " +
                  without_secrets(unknown_argument(grammar.app, args.front()),
                                  args)
            : missing_text(*grammar.app.get_subcommand(args.front()),
                           failure.what());
    return Error{Error::Code::invalid_argument, text};
  } catch (const CLI::ExcludesError& failure) {
    return Error{Error::Code::invalid_argument,
                 std::string(failure.what()) + ": give only one of them"};
  } catch (const CLI::ParseError& failure) {
    return Error{Error::Code::invalid_argument,
                 without_secrets(failure.what(), args)};
  }
  SMD_TRY(Command command, grammar.chosen());
  auto* run = std::get_if<RunCommand>(&command);
  if (run && dashes != args.end()) {
    run->trainer.assign(dashes + 1, args.end());
  }
  if (run && run->trainer.empty()) {
    return Error{Error::Code::invalid_argument,
                 "run: the command to run is missing; put it after '--': "
                 "smdebug run -- python train.py"};
  }
  return command;
}

}  // namespace smdebug
