// smdebug tensor RUN NAME

#include "smdebug/report/tensor_table.h"

#include "commands.h"
#include "opened_run.h"

namespace smdebug {

int run(const TensorCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  TensorPageQuery query;
  query.tensor = command.tensor;
  query.step = command.step;
  query.mode = command.mode;
  query.worker = command.worker;
  const auto page = read_tensor_page(**trial, query);
  if (!page) return console.fail(page.error());
  console.out << (command.json ? tensor_page_json(*page)
                               : tensor_page_text(*page));
  return kExitNothingFound;
}

}  // namespace smdebug
