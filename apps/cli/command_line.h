#pragma once

// The parsed command line: a struct for each sub-command. Only this file knows
// how the arguments are spelled.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "smdebug/actions/action_request.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/report/run_summary.h"
#include "smdebug/rules/builtin_rules.h"

namespace smdebug {

struct RunCommand {
  std::vector<std::string> trainer;  // the program and its arguments
  std::string out;                   // empty: chosen by the script's name
  std::vector<RuleRequest> rules;    // empty: the default set
  std::vector<ActionRequest> actions;
  bool stop = false;
  bool is_private = false;
  bool json = false;
  Detail detail = Detail::normal;
};

struct WatchCommand {
  std::string run;
  std::vector<RuleRequest> rules;
  std::vector<ActionRequest> actions;
  // Watching ends after this time without a new step; none: never.
  std::optional<double> timeout_seconds;
  bool json = false;
  Detail detail = Detail::normal;
};

struct CheckCommand {
  std::vector<std::string> runs;  // "FOLDER/*": the runs below a folder
  std::string ray;  // the address of a Ray cluster; empty: this process judges
  std::vector<RuleRequest> rules;
  std::vector<ActionRequest> actions;
  bool json = false;
  Detail detail = Detail::normal;
};

struct ShowCommand {
  std::string run;
  bool model = false;  // its parameters, optimizers, modules and losses
  bool json = false;
};

struct TensorCommand {
  std::string run;
  std::string tensor;
  std::optional<Step> step;
  Mode mode = Mode::global;
  std::optional<std::string> worker;
  bool json = false;
};

struct ExplainCommand {
  std::string run;
  std::string tensor;
  std::optional<Step> step;
  Mode mode = Mode::global;
  bool json = false;
};

struct ReportCommand {
  std::string run;
  std::string out;  // empty: beside the run
  bool json = false;
};

struct LsCommand {
  std::string folder;  // empty: "smdebug-runs" if it exists, otherwise "."
  bool json = false;
};

struct RmCommand {
  std::vector<std::string> runs;
  bool yes = false;    // do not ask
  bool force = false;  // also remove a run that is being written
};

struct PackCommand {
  std::vector<std::string> runs;
};

struct ExportCommand {
  std::string run;
  std::string format;
  std::string out;                   // empty: after the name of the run
  std::vector<std::string> tensors;  // regular expressions; empty: all
  std::optional<Step> step;
  Mode mode = Mode::global;
};

struct SqlCommand {
  std::string query;
  std::vector<std::string> runs;  // or folders with runs below
  bool csv = false;
  bool json = false;
};

struct RulesCommand {
  std::optional<std::string> rule;
  bool json = false;
};

// The user asked for help or for the version; `text` is the answer.
struct HelpRequest {
  std::string text;
};

using Command =
    std::variant<RunCommand, WatchCommand, CheckCommand, ShowCommand,
                 TensorCommand, ExplainCommand, ReportCommand, LsCommand,
                 RmCommand, PackCommand, ExportCommand, SqlCommand,
                 RulesCommand, HelpRequest>;

// Parses a command line without the program's name. Fails with
// `invalid_argument`, with the sentence that the user sees.
Result<Command> parse_command_line(std::span<const std::string> args);

// Whether `smdebug <name>` is a command.
bool is_command(std::string_view name);

}  // namespace smdebug
