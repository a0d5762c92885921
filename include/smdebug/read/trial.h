#pragma once

// A `Trial` reads a run, whether it is still growing or has ended: its tensors,
// steps, workers and collections. Start here to inspect a run; a `Tensor`
// (tensor.h) reads the values of one tensor.
//
// Queries look for new files first, unless `set_refreshing(false)` was called.
// A refresh that fails is logged once, and the query answers from the files
// that are known. Use a trial from one thread at a time: `turn`
// is a mutex for that.

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/config/collection.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/scalar_series.h"
#include "smdebug/read/tensor.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

struct TrialOptions {
  std::string name;  // empty: the last component of the location
  // Global steps outside [first, end) are never loaded.
  std::optional<Step> first_step;
  std::optional<Step> end_step;
  // How long `open` waits until every worker has written its collections. None:
  // forever, with a log line every 10 s. 0: fail at once with `not_found`.
  std::optional<std::chrono::nanoseconds> timeout;
  // Fails with `collections_missing` if the run ended before every worker wrote
  // its collections, and logs a warning if the timeout passes before that.
  bool require_all_workers = false;
  // Called about ten times a second by a thread that waits. If it returns true,
  // the wait fails with `interrupted`.
  std::function<bool()> check_interrupt;
  // Called before each refresh. If a session of this process writes the run,
  // flush it here.
  std::function<void()> before_refresh;
  // A step that a worker did not write counts as complete once this many newer
  // steps exist. None: the variable SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW, or
  // 1000.
  std::optional<int> incomplete_step_window;
  // How long to wait after the end marker for files of missing workers.
  // None: the seconds in SMDEBUG_TRAINING_END_DELAY_REFRESH, or 1.
  std::optional<std::chrono::nanoseconds> end_delay;
  // How many times, 2 s apart, to retry a value whose event file is missing and
  // may still come. None: SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT, or 100.
  std::optional<int> missing_event_file_retries;
  // The limit of each call of the storage that `open` finds by its location.
  // None: a storage that does not respond blocks the reader.
  std::optional<WaitLimit> storage_limit;
  bool keep_values = false;  // keeps values in memory after reading them
  // Both must outlive the trial.
  const Clock* clock = nullptr;  // null: system_clock()
  Logger* logger = nullptr;      // null: default_logger()
};

// Whether a step can be read. The numbers are the original's.
enum class StepState { unavailable = 0, available = 1, not_yet_available = 2 };

// Whether a process may still write the run. `exited`: the process that claimed
// the run, on this host, exited without an end marker. A run without a claim
// and without an end marker, such as one of separate workers, is `running`.
enum class WriterState { running, ended, exited };

// The process that writes a run, or wrote it last.
struct RunWriter {
  std::string host;
  std::int64_t process_id = 0;
  // When it started, in clock ticks since boot: process ids are reused.
  std::uint64_t start_ticks = 0;
};

// A start of the training in the folder of the run. A trial shows the steps of
// the newest attempt and those before its first, which it continues. The steps
// that an attempt has replaced are a run of their own.
struct Attempt {
  std::uint64_t number = 0;    // from 1; 0: before the first that is recorded
  double started_seconds = 0;  // since the epoch
  std::optional<double> ended_seconds;  // none: running, or killed
  std::optional<Step> first_step;
  std::string status;    // "running", "finished", or the first error
  std::string raised;    // what ended the training, as "ValueError"; or empty
  std::string location;  // of the steps that were replaced; empty: none were
  std::string host;      // of the process that writes `run.json`
  std::int64_t process_id = 0;
  std::vector<std::string> command;
  std::map<std::string, std::string> versions;     // "python" -> "3.11.7"
  std::map<std::string, std::string> environment;  // rank, world size, seeds
  std::map<std::string, double> cost;  // "step_thread_seconds" -> 0.02
};

// A file, or a part of one, that could not be read and was skipped.
struct Damage {
  std::string key;   // the file, relative to the run
  std::string what;  // the reason, one sentence
  // False for a file without which rules judge the same, such as `run.json`.
  bool hides_tensors = true;
};

// Selects tensors by name. All fields that are set must match, except that
// `names` adds to `regexes`.
struct TensorNameQuery {
  std::optional<Step> step;  // a step of `mode`
  Mode mode = Mode::global;
  std::vector<std::string> regexes;       // names that match any of them
  std::optional<std::string> collection;  // members of this collection
  std::vector<std::string> names;         // exactly these
};

class Trial {
 public:
  /// Opens the run at a path or address, or that in the folder "debug-output"
  /// there, as jobs of SageMaker have it, and loads its index; waits for the
  /// run as `options` specify. Fails with `not_found` if the timeout passes
  /// without a run or, with `collections_missing`, if workers are missing; with
  /// `invalid_argument` for an empty range of steps; with `interrupted`,
  /// `unsupported` or `io`.
  static Result<std::unique_ptr<Trial>> open(std::string_view location,
                                             TrialOptions options = {});
  static Result<std::unique_ptr<Trial>> open(
      std::shared_ptr<const Storage> storage, TrialOptions options = {});
  ~Trial();

  const std::string& name() const;
  const std::string& location() const;

  /// Returns a mutex for the threads that share a trial and its tensors. The
  /// trial itself does not lock it.
  std::recursive_mutex& turn() const;

  /// Loads new steps; does nothing after the end of the run. Waits for
  /// `TrialOptions::end_delay` if the run has just ended and workers are
  /// missing. Fails with `io` or `interrupted`; later calls try again.
  Status refresh();
  /// Sets whether queries refresh first; initially true.
  void set_refreshing(bool refreshing);
  bool is_refreshing() const;

  /// Returns true once the end marker exists and every file is loaded.
  bool has_ended();
  /// Refreshes, even after `set_refreshing(false)`, and returns the state.
  WriterState writer_state();
  /// Returns the process that claimed the run. For a run without a claim, such
  /// as one of separate workers, returns the process that wrote `run.json`
  /// last, if it still runs on this host; otherwise none.
  std::optional<RunWriter> writer();
  /// Returns the number of the attempt that this trial shows; 0 if the run has
  /// no `run.json`, as runs of the original. Does not refresh.
  std::uint64_t attempt() const;
  /// Returns the framework that wrote the run, as "pytorch"; empty if the run
  /// does not record it.
  std::string framework() const;
  /// Returns every attempt, in order; none for a run without `run.json`. Fails
  /// with `io`.
  Result<std::vector<Attempt>> attempts();
  /// Returns what the workers train: the facts that each of them reported,
  /// sorted by the step from which on they hold. Empty for a run without them,
  /// as runs of the original.
  std::vector<WorkerFacts> facts();
  /// Returns the names of the scalar series, sorted. A run without them, as
  /// runs of the original, has none.
  std::vector<std::string> series_names();
  /// Returns the samples of a scalar series of each worker that recorded it,
  /// sorted by worker. Fails with `not_found` and names the nearest names, and
  /// with `io`.
  Result<std::vector<WorkerSeries>> series(std::string_view name);
  /// Returns false if the run's folder was removed; true if it has files or
  /// cannot be listed.
  bool exists();

  /// Returns the names of all tensors, sorted.
  std::vector<std::string> tensor_names();
  /// Returns the names that match `query`, sorted; empty for an unknown step or
  /// mode. Fails with `invalid_argument` for a pattern that does not compile or
  /// if both a regex and a collection are given, and with `not_found` for an
  /// unknown collection.
  Result<std::vector<std::string>> tensor_names(const TensorNameQuery& query);

  /// Returns the tensor of that name. Fails with `not_found`
  /// (`tensor_unknown`), naming the nearest names.
  Result<Tensor> tensor(std::string_view name);
  bool has_tensor(std::string_view name);

  /// Returns the steps of `mode`, ascending: those that every worker wrote or
  /// that are no longer waited for; with `incomplete`, all.
  std::vector<Step> steps(Mode mode = Mode::global, bool incomplete = false);
  /// Returns the modes that have steps, in the order of `Mode`, never `global`.
  std::vector<Mode> modes();
  /// Returns both numbers of a step, or none if the run has no such step.
  std::optional<StepId> step_id(Step global_step);
  /// Returns the global number of a step of `mode`, or none if the run has no
  /// such step. In mode `global` returns `mode_step` itself.
  std::optional<Step> global_step(Mode mode, Step mode_step);

  /// Returns the names of the workers that have written files, sorted.
  std::vector<std::string> workers();
  /// Returns the number of workers that the collections files state; 1 without
  /// such files. Does not refresh.
  int num_workers() const;
  /// Returns the last global step that is complete or no longer waited for; -1
  /// if there is none. Does not refresh.
  Step last_complete_step() const;
  /// Returns the key of the index file from which the original would list next;
  /// empty before the first step. Does not refresh.
  std::string last_index_token() const;

  /// Returns the collections in the order of the run's collections file; empty
  /// for a run without such files.
  std::vector<Collection> collections();
  /// Returns a number that changes whenever `collections` does.
  int collections_version();
  /// Returns the collection of that name, or none. Does not refresh.
  std::optional<Collection> find_collection(std::string_view name);

  /// Returns whether a step can be read now, may still appear, or never will.
  StepState has_passed_step(Step step, Mode mode = Mode::global);
  /// Waits until every step of `steps` is available and logs a reminder every
  /// 10 s. `timeout` covers all steps together; none waits forever. Fails with
  /// `not_found` for a step that will never be available (`step_passed`, or
  /// `no_more_data` in a run that has ended), with `not_yet` (`step_not_yet`)
  /// after the timeout, with `interrupted`, and as `refresh`.
  Status wait_for_steps(
      std::span<const Step> steps, Mode mode = Mode::global,
      std::optional<std::chrono::nanoseconds> timeout = std::nullopt);

  /// Returns the files that were skipped so far because they are damaged.
  std::vector<Damage> damage();
  /// Returns `find_refused_writer` (run_folder.h) of the run; none as well if
  /// it cannot be read.
  std::optional<std::string> refused_writer() const;
  /// Returns how many tensors the writer dropped because its buffer was full.
  std::uint64_t dropped_tensors();
  /// Returns the size of all files of the run in bytes. Lists them on each
  /// call. Fails as `Storage::list`.
  Result<std::uint64_t> bytes();
  /// Returns the text of `run.json`. Fails with `not_found` for a run of the
  /// original, and with `io`.
  Result<std::string> run_file_text();

  /// Feeds every complete step in [first, end) to `sink`, in order, as run
  /// number `run`, with the scalars of these and all other steps of the range
  /// so far, and returns the next global step to feed from. Feeds only
  /// tensors for which `wanted` returns true; all tensors if it is empty. Does
  /// not wait. Observations of a run of the original have its reductions
  /// instead of statistics. The caller calls `on_tick` and `on_run_end`.
  Result<Step> feed(ObservationSink& sink, std::size_t run, Step first,
                    const std::function<bool(std::string_view)>& wanted = {},
                    Step end = std::numeric_limits<Step>::max());

 private:
  friend class Tensor;
  class Impl;
  explicit Trial(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Returns those of `names` that match one of `patterns`, as Python's
/// `re.search` does, in their order. Fails with `invalid_argument` for a
/// pattern that does not compile.
Result<std::vector<std::string>> find_names(
    std::vector<std::string> names, const std::vector<std::string>& patterns);

/// Returns facts as JSON, as a run stores them (docs/format.md).
std::string run_facts_json(const RunFacts& facts);

}  // namespace smdebug
