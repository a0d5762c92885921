// Runs the user's program in a shell, with the alert on its standard input.
// After the time limit, the program is terminated with all that it started.

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "actions/actions.h"
#include "base/child_program.h"

namespace smdebug {
namespace {

constexpr std::size_t kOutputShown = 300;

class CommandAction : public Action {
 public:
  CommandAction(ActionRequest request, const ActionSettings& settings)
      : Action(std::move(request)), settings_(settings) {}

  Result<std::string> perform(const Alert& alert) override {
    ProgramCall call;
    call.name = "the command";
    call.words = {"/bin/sh", "-c", request().target};
    call.input = alert_json(alert) + "\n";
    call.time_limit = settings_.command_timeout;
    call.kept_bytes = kOutputShown;
    call.joins_errors = true;
    SMD_TRY(ProgramEnd end, run_program(call, clock_of(settings_)));
    if (end.is_success) return std::move(end.text);
    return Error{Error::Code::io, end.text + output_text(end.output)};
  }

 private:
  static std::string output_text(std::string text) {
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text.empty() ? "" : ": " + printable(text);
  }

  const ActionSettings settings_;
};

}  // namespace

std::unique_ptr<Action> make_command_action(ActionRequest request,
                                            const ActionSettings& settings) {
  return std::make_unique<CommandAction>(std::move(request), settings);
}

}  // namespace smdebug
