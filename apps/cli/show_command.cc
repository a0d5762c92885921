// smdebug show RUN

#include "smdebug/report/run_page.h"

#include "commands.h"
#include "opened_run.h"

namespace smdebug {

int run(const ShowCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  const auto page = read_run_page(**trial);
  if (!page) return console.fail(page.error());
  console.out << (command.json ? run_page_json(*page) : run_page_text(*page));
  return kExitNothingFound;
}

}  // namespace smdebug
