// smdebug show RUN

#include "smdebug/actions/recorded_statuses.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/store/open_storage.h"

#include "commands.h"
#include "opened_run.h"

namespace smdebug {

int run(const ShowCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  auto page = read_run_page(**trial);
  if (!page) return console.fail(page.error());
  if (const auto storage = open_storage((*trial)->location())) {
    // The page of a run that cannot be listed says so elsewhere.
    if (auto rules = read_recorded_statuses(**storage)) {
      page->rules = *std::move(rules);
    }
  }
  console.out << (command.json ? run_page_json(*page) : run_page_text(*page));
  return kExitNothingFound;
}

}  // namespace smdebug
