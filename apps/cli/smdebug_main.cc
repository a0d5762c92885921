#include <iostream>

#include <unistd.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/terminal.h"
#include "smdebug/cli/main.h"

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

}  // namespace

int smdebug_main(std::span<const std::string> args, const CliHooks& hooks) {
  const Console console = {hooks.out ? *hooks.out : std::cout,
                           hooks.err ? *hooks.err : std::cerr,
                           hooks.clock ? *hooks.clock : system_clock(),
                           hooks,
                           hooks.err ? hooks.err_is_terminal
                                     : is_interactive_terminal(STDERR_FILENO),
                           answers_of(hooks)};
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

}  // namespace smdebug
