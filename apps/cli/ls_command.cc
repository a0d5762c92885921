// smdebug ls [FOLDER]

#include <filesystem>

#include "smdebug/base/escape.h"
#include "smdebug/base/parallel.h"
#include "smdebug/report/run_list.h"

#include "commands.h"
#include "find_runs.h"
#include "run_rows.h"

namespace smdebug {
namespace {

constexpr const char* kUsualFolder = "smdebug-runs";
// Of a store, whose answers take longer than the work.
constexpr std::size_t kMostRunsAtOnce = 32;

std::string folder_of(const LsCommand& command) {
  if (!command.folder.empty()) return command.folder;
  std::error_code failure;
  return std::filesystem::is_directory(kUsualFolder, failure) ? kUsualFolder
                                                              : ".";
}

}  // namespace

int run(const LsCommand& command, const Console& console) {
  const std::string folder = folder_of(command);
  const auto found = find_runs(folder);
  if (!found) return console.fail(found.error());
  for (const std::string& reason : found->skipped) {
    console.err << "smdebug: " << printable(reason) << std::endl;
  }
  std::vector<RunRow> rows(found->runs.size());
  concurrent_for(
      rows.size(), is_address(folder) ? kMostRunsAtOnce : 1,
      [&](std::size_t i) { rows[i] = read_run_row(found->runs[i], console); });
  sort_rows(rows);
  if (command.json) {
    console.out << run_list_json(rows);
  } else if (rows.empty()) {
    console.err << "smdebug: no runs below '" << printable(folder)
                << "'; name another folder, or record a run with 'smdebug run'"
                << std::endl;
  } else {
    console.out << run_list_text(rows, console.clock.wall_seconds());
  }
  return kExitNothingFound;
}

}  // namespace smdebug
