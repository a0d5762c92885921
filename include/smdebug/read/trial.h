#pragma once

// A `Trial` reads a run: which tensors it holds, at which steps, and what is
// in them, while the run is still growing or long after. Start here to look
// at a run; `tensor.h` is one tensor of it.
//
// A trial is used by one thread at a time.

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"
#include "smdebug/read/tensor.h"
#include "smdebug/store/storage.h"

namespace smdebug {

struct TrialOptions {
  std::string name;  // empty: the last part of the location
  // Global steps outside [first, end) are never loaded.
  std::optional<Step> first_step;
  std::optional<Step> end_step;
  // How long to wait until every worker has written its collections. None:
  // forever, with a log line every 10 s. 0: fail at once with `not_found`.
  std::optional<std::chrono::nanoseconds> timeout;
  // Fails with `collections_missing` if the run ended before every worker wrote
  // its collections, and logs a warning if the timeout passes before that.
  bool require_all_workers = false;
  // Called about ten times a second while the trial waits, by the thread that
  // waits. Returning true ends the wait, which fails with `interrupted`.
  std::function<bool()> check_interrupt;
  // Called before each refresh. A caller that knows the writer of this run in
  // this process flushes it here.
  std::function<void()> before_refresh;
  // A step that one worker never wrote is given up once this many newer steps
  // exist. None: the variable SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW, or 1000.
  std::optional<int> incomplete_step_window;
  // How long after the end marker a missing worker's files may still appear.
  // None: the seconds in SMDEBUG_TRAINING_END_DELAY_REFRESH, or 1.
  std::optional<std::chrono::nanoseconds> end_delay;
  // How many times, 2 s apart, to retry a value whose event file is missing and
  // may still come. None: SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT, or 100.
  std::optional<int> missing_event_file_retries;
  bool keep_values = false;      // keeps values in memory once they are read
  const Clock* clock = nullptr;  // null: system_clock()
  Logger* logger = nullptr;      // null: default_logger()
};

// Whether a step can be read. The numbers are the original's.
enum class StepState { unavailable = 0, available = 1, not_yet_available = 2 };

// Whether somebody may still write the run. `gone`: the process that claimed
// it, on this host, lives no more and left no end marker. Of a run that nobody
// claimed, as one of several workers, nothing is known: it is `running`.
enum class WriterState { running, ended, gone };

// The process that writes a run, or wrote it last.
struct RunWriter {
  std::string host;
  std::int64_t process_id = 0;
  std::uint64_t start_ticks = 0;  // since boot; process ids return
};

// Something in the run that could not be read, and was left out.
struct Damage {
  std::string key;   // the file, relative to the run
  std::string what;  // one sentence
};

struct TensorNameQuery {
  std::optional<Step> step;  // a step of `mode`
  Mode mode = Mode::global;
  std::vector<std::string> regexes;       // names that any of them finds
  std::optional<std::string> collection;  // those of a collection, by name
  std::vector<std::string> names;         // these, beside what a regex finds
};

class Trial {
 public:
  /// Opens the run at `location` and loads what is there. Fails with
  /// `not_found` when the timeout passes with nothing to read, `io`,
  /// `unsupported` or `invalid_argument`.
  static Result<std::unique_ptr<Trial>> open(std::string_view location,
                                             TrialOptions options = {});
  static Result<std::unique_ptr<Trial>> open(
      std::shared_ptr<const Storage> storage, TrialOptions options = {});
  ~Trial();

  const std::string& name() const;
  const std::string& location() const;

  /// Looks for new steps now. Queries do it by themselves unless
  /// `set_refreshing(false)`; a run that has ended is not looked at again.
  Status refresh();
  void set_refreshing(bool refreshing);
  bool is_refreshing() const;

  /// True once the end marker was seen and every file loaded.
  bool has_ended();
  /// Looks now, even where queries do not.
  WriterState writer_state();
  /// The process that claimed the run; of a run that nobody claimed, as one of
  /// several workers, the one that wrote `run.json` last, if it still lives on
  /// this host. None where neither is known.
  std::optional<RunWriter> writer();
  /// How often the training was started in this folder; 0 where the run does
  /// not say, as one of the original.
  std::uint64_t attempts();
  /// False once the run's files are gone: its folder was removed.
  bool is_there();

  std::vector<std::string> tensor_names();
  /// Sorted. Unknown steps and modes give an empty list. Fails with
  /// `invalid_argument` for a pattern that does not compile or when both a
  /// regex and a collection are given, `not_found` for an unknown collection.
  Result<std::vector<std::string>> tensor_names(const TensorNameQuery& query);

  /// Fails with `not_found`, naming the nearest names.
  Result<Tensor> tensor(std::string_view name);
  bool has_tensor(std::string_view name);

  /// Steps of `mode`, ascending: those that every worker wrote, or that were
  /// given up on; with `incomplete`, all.
  std::vector<Step> steps(Mode mode = Mode::global, bool incomplete = false);
  /// Modes seen, in the order of `Mode`, never `global`.
  std::vector<Mode> modes();
  std::optional<StepId> step_id(Step global_step);
  std::optional<Step> global_step(Mode mode, Step mode_step);

  std::vector<std::string> workers();
  int num_workers() const;
  /// -1: none yet.
  Step last_complete_step() const;
  /// Where the next listing starts, as the original keeps it.
  std::string last_index_token() const;

  /// In the order of the run's collections file.
  std::vector<Collection> collections();
  std::optional<Collection> find_collection(std::string_view name);

  StepState has_passed_step(Step step, Mode mode = Mode::global);
  /// Waits until every step of `steps` is available and logs a reminder every
  /// 10 s. Fails with `not_found` for a step that will never come
  /// (`step_passed`, or `no_more_data` in a run that has ended), with `not_yet`
  /// (`step_not_yet`) when `timeout`, which covers all steps together, passes
  /// first, and with `interrupted`. Without a timeout it waits forever.
  Status wait_for_steps(
      std::span<const Step> steps, Mode mode = Mode::global,
      std::optional<std::chrono::nanoseconds> timeout = std::nullopt);

  /// What was left out so far, and drops that the writer counted.
  std::vector<Damage> damage();
  std::uint64_t dropped_tensors();
  /// Bytes of all files of the run.
  Result<std::uint64_t> bytes();
  /// `run.json` as it stands; `not_found` for a run of the original.
  Result<std::string> run_file_text();

  /// Feeds every complete step from `first` to before `end` to `sink`, in
  /// order, and returns the next global step to feed from. Only tensors for
  /// which `wanted` is true are fed; with none, all. Does not wait.
  /// Observations of a run of the original have no statistics; they hold its
  /// reductions instead. `on_tick` and `on_run_end` are left to the caller.
  Result<Step> feed(ObservationSink& sink, std::size_t run, Step first,
                    const std::function<bool(std::string_view)>& wanted = {},
                    Step end = std::numeric_limits<Step>::max());

 private:
  friend class Tensor;
  class Impl;
  explicit Trial(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Returns those of `names` that one of `patterns` finds, in their order. Fails
/// with `invalid_argument` for a pattern that does not compile.
Result<std::vector<std::string>> find_names(
    std::vector<std::string> names, const std::vector<std::string>& patterns);

}  // namespace smdebug
