// smdebug show RUN

#include "smdebug/actions/rule_watch.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/store/open_storage.h"

#include "commands.h"
#include "opened_run.h"

namespace smdebug {

int run(const ShowCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  auto overview = read_run_overview(**trial);
  if (!overview) return console.fail(overview.error());
  if (const auto storage = open_storage((*trial)->location())) {
    // If the run cannot be listed, the overview already reports it.
    if (auto rules = read_recorded_statuses(**storage)) {
      overview->rules = *std::move(rules);
    }
  }
  console.out << (command.json ? run_overview_json(*overview)
                               : run_overview_text(*overview));
  return kExitNothingFound;
}

}  // namespace smdebug
