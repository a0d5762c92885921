#include "run_rows.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/base/try.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/store/open_storage.h"

#include "run_location.h"

namespace smdebug {
namespace {

// The time of the last change of a folder, since the epoch; 0 if unknown.
double folder_seconds(const std::string& run) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(run, failure);
  if (failure) return 0;
  const auto system = std::chrono::file_clock::to_sys(time);
  return std::chrono::duration<double>(system.time_since_epoch()).count();
}

// A trial cannot tell a running training from a killed one if the run names no
// process, as runs of the original.
RunState state_of(Trial& trial) {
  switch (trial.writer_state()) {
    case WriterState::ended:
      return RunState::ended;
    case WriterState::exited:
      return RunState::killed;
    case WriterState::running:
      break;
  }
  return trial.writer() ? RunState::running : RunState::unknown;
}

// The counts of `progress.json` are those of one worker and one attempt, and
// include steps that were removed.
Status measure_again(const Storage& storage, const RunProgress& progress,
                     RunRow& row) {
  if (progress.workers == 1 && progress.attempt == 1 &&
      progress.removed_steps == 0) {
    return {};
  }
  SMD_TRY(const RunSize size, measure_run(storage));
  row.steps = size.steps;
  row.bytes = size.bytes;
  return {};
}

Result<RunRow> read_quickly(const Storage& storage, const Console& console) {
  SMD_TRY(const RunProgress progress, read_run_progress(storage));
  RunRow row = run_row(progress);
  row.state = read_run_state(storage, progress, console.clock.wall_seconds());
  SMD_CHECK_OK(measure_again(storage, progress, row));
  return row;
}

// For runs of the original and of older versions, and for damaged ones.
Result<RunRow> read_through_trial(const std::string& run,
                                  const Console& console) {
  SMD_TRY(const auto trial, open_run(run, console));
  SMD_TRY(const RunOverview overview, read_run_overview(*trial));
  RunRow row = run_row(overview);
  row.state = state_of(*trial);
  const std::vector<Step> steps = trial->steps();
  if (!steps.empty()) row.last_step = steps.back();
  return row;
}

void add_rules(const Storage& storage, RunRow& row) {
  auto statuses = read_recorded_statuses(storage);
  if (!statuses) return;
  for (RecordedStatus& status : *statuses) {
    // Those of an older attempt do not apply to this one.
    if (status.attempt >= row.attempt) row.rules.push_back(std::move(status));
  }
}

// A run before its first saved step, or one that ended without any.
RunRow row_without_steps(const Storage& storage, const Console& console) {
  RunRow row;
  row.state =
      read_run_state(storage, RunProgress(), console.clock.wall_seconds());
  row.problem = "no step is saved";
  return row;
}

Result<RunRow> read_row(const std::string& run, const Console& console) {
  SMD_TRY(const auto storage, open_storage(run));
  auto row = read_quickly(*storage, console);
  if (!row) row = read_through_trial(run, console);
  if (!row && row.error().code == Error::Code::not_found)
    row = row_without_steps(*storage, console);
  if (row) add_rules(*storage, *row);
  return row;
}

}  // namespace

RunRow read_run_row(const std::string& run, const Console& console) {
  auto read = read_row(run, console);
  RunRow row;
  if (read) {
    row = *std::move(read);
  } else {
    row.problem = read.error().message;
  }
  row.run = run;
  if (row.started_seconds == 0) row.started_seconds = folder_seconds(run);
  return row;
}

}  // namespace smdebug
