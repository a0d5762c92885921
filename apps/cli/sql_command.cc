// smdebug sql QUERY RUN...

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/base/escape.h"
#include "smdebug/report/query_output.h"

#include "commands.h"
#include "find_runs.h"
#include "run_patterns.h"

namespace smdebug {
namespace {

std::unique_ptr<QuerySink> output_of(const SqlCommand& command,
                                     const Console& console) {
  if (command.json) return query_json_output(console.out);
  if (command.csv) return query_csv_output(console.out);
  return query_text_output(console.out);
}

}  // namespace

int run(const SqlCommand& command, const Console& console) {
  int code = kExitNothingFound;
  std::vector<std::string> runs;
  for (const std::string& location : command.runs) {
    const auto found = is_pattern(location) ? expand_patterns({&location, 1})
                                            : find_runs(location);
    if (!found) {
      code = console.fail(found.error());
      continue;
    }
    for (const std::string& reason : found->skipped) {
      console.err << "smdebug: " << printable(reason) << std::endl;
    }
    runs.insert(runs.end(), found->runs.begin(), found->runs.end());
    // Opening it gives the reason.
    if (found->runs.empty()) runs.push_back(location);
  }
  if (runs.empty()) return code;
  const auto output = output_of(command, console);
  const auto summary = query_runs(runs, command.query, *output);
  if (!summary) return console.fail(summary.error());
  console.out << std::flush;
  for (const auto& [run, what] : summary->problems) {
    code = console.fail({Error::Code::io, "run '" + run + "': " + what});
  }
  return code;
}

}  // namespace smdebug
