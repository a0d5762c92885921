// smdebug explain RUN NAME [STEP]

#include "smdebug/report/explanation.h"

#include "commands.h"
#include "opened_run.h"

namespace smdebug {

int run(const ExplainCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  const auto explanation =
      explain_tensor(**trial, {command.tensor, command.step, command.mode});
  if (!explanation) return console.fail(explanation.error());
  console.out << (command.json ? explanation_json(*explanation)
                               : explanation_text(*explanation));
  return kExitNothingFound;
}

}  // namespace smdebug
