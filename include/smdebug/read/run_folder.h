#pragma once

// Facts about a run that take a few small files and no `Trial`: for lists of
// many runs, and for removing runs. A `Trial` (trial.h) reads the contents.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/core/run_progress.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns `progress.json`. Fails with `not_found` for a run of the original,
/// of an older smdebug, or without a saved step; with `corrupt`, `unsupported`
/// and `io`.
Result<RunProgress> read_run_progress(const Storage& storage);

// Whether a training still writes a run. `failed`: an exception ended it.
// `killed`: its process exited without an end marker. `unknown`: its process is
// on another host and has not written for a while.
enum class RunState { running, ended, failed, killed, unknown };

/// Returns the first error of the recording by the `progress.json` at
/// `location`; empty if it has none or cannot be read.
std::string recorded_error(const std::string& location);

/// Returns whether the run at `location`, a path or URI, has an end marker: its
/// training ended. False if there is no run. Fails as `open_storage` and
/// `Storage::exists`.
Result<bool> has_end_marker(std::string_view location);

/// Returns whether the run has an end: its training ended, or an exception
/// ended it.
bool has_end(RunState state);

/// Returns "running", "ended", "failed", "killed" or "unknown".
std::string_view run_state_name(RunState state);

/// Returns the state by the end marker, the claim and the writer of `progress`.
/// `wall_seconds` is the time now. Reads at most two small files.
RunState read_run_state(const Storage& storage, const RunProgress& progress,
                        double wall_seconds);

/// Returns whether a run with saved steps lacks one of its folders or
/// `run.json`: `Trial::damage` then names it. Reads and lists nothing. False if
/// the storage has no folders.
bool lacks_parts(const Storage& storage);

/// Returns a sentence about the last process, or hook of the same process, that
/// wanted to write a run while another one wrote it: its steps are lost. None
/// if there was none. Fails as `get_object`.
Result<std::optional<std::string>> find_refused_writer(const Storage& storage);

// The files of a run, counted by listing them.
struct RunSize {
  std::uint64_t bytes = 0;
  std::uint64_t steps = 0;  // with an index file, of any worker
};

/// Lists all files of a run, outside `attempts/` for the steps. Fails as
/// `Storage::list`.
Result<RunSize> measure_run(const Storage& storage);

/// Returns the reason why there is no run at `location`, a path or URI: it is
/// missing, with the nearest run beside it, or a file, or a folder without a
/// run (`not_found`); the user may not read it (`io`); or its file system has
/// not responded for 5 s (`unavailable`).
Error no_run_error(std::string_view location);

/// Returns whether files with this key, relative to the run, are part of runs.
/// Users may keep other files in the same folder.
bool is_run_file(std::string_view key);

}  // namespace smdebug
