// smdebug tensor RUN NAME

#include "smdebug/report/tensor_table.h"

#include "commands.h"
#include "opened_run.h"

namespace smdebug {

int run(const TensorCommand& command, const Console& console) {
  const auto trial = open_run(command.run, console);
  if (!trial) return console.fail(trial.error());
  TensorQuery query;
  query.tensor = command.tensor;
  query.step = command.step;
  query.mode = command.mode;
  query.worker = command.worker;
  const auto table = read_tensor_table(**trial, query);
  if (!table) return console.fail(table.error());
  console.out << (command.json ? tensor_table_json(*table)
                               : tensor_table_text(*table));
  return kExitNothingFound;
}

}  // namespace smdebug
