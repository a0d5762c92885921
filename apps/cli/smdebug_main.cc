#include <iostream>

#include <unistd.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/terminal.h"
#include "smdebug/base/try.h"
#include "smdebug/cli/main.h"
#include "smdebug/monitor/result_record.h"

#include "command_line.h"
#include "commands.h"
#include "console.h"

namespace smdebug {
namespace {

int run(const HelpRequest& request, const Console& console) {
  console.out << request.text;
  return kExitNothingFound;
}

// "run " for the arguments of 'smdebug run'.
std::string help_of(std::span<const std::string> args) {
  return !args.empty() && is_command(args.front()) ? args.front() + " " : "";
}

std::istream* answers_of(const CliHooks& hooks) {
  if (hooks.in) return hooks.in_is_terminal ? hooks.in : nullptr;
  return ::isatty(STDIN_FILENO) == 1 ? &std::cin : nullptr;
}

Console console_of(const CliHooks& hooks) {
  return {hooks.out ? *hooks.out : std::cout,
          hooks.err ? *hooks.err : std::cerr,
          hooks.clock ? *hooks.clock : system_clock(),
          hooks,
          hooks.err ? hooks.err_is_terminal
                    : is_interactive_terminal(STDERR_FILENO),
          answers_of(hooks)};
}

// Fails with `invalid_argument`.
Result<CheckCommand> parse_check(std::span<const std::string> args) {
  SMD_TRY(Command command, parse_command_line(args));
  auto* const check = std::get_if<CheckCommand>(&command);
  if (check && check->runs.size() == 1) return std::move(*check);
  return Error{Error::Code::invalid_argument,
               "another process judges with the command 'check' and one run"};
}

}  // namespace

int smdebug_main(std::span<const std::string> args, const CliHooks& hooks) {
  const Console console = console_of(hooks);
  const auto command = parse_command_line(args);
  if (!command) {
    console.err << "smdebug: " << printable_lines(command.error().message)
                << "\n"
                << "see 'smdebug " << help_of(args) << "--help'" << std::endl;
    return kExitUsage;
  }
  const int code = std::visit(
      [&](const auto& chosen) { return run(chosen, console); }, *command);
  console.out << std::flush;
  return code;
}

std::string judge_for_ray(std::span<const std::string> args,
                          const CliHooks& hooks) {
  const auto command = parse_check(args);
  if (command) return judge_one(*command, console_of(hooks));
  MonitorResult result;
  result.error = command.error();
  return result_record(std::move(result));
}

}  // namespace smdebug
