#pragma once

// The state that `Trial`, `Tensor` and the feed share: the table of the run,
// kept up to date with its files.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/read/trial.h"

#include "index/run_index.h"
#include "read/completeness.h"
#include "read/record_reader.h"
#include "read/run_collections.h"
#include "read/run_facts_files.h"
#include "read/run_series_files.h"

namespace smdebug {

// The one way in which a trial waits: it polls ten times a second, a store over
// a network once a second because requests cost money, logs a reminder every
// 10 s, and ends when its timeout passes or the caller's
// `check_interrupt` returns true.
class Wait {
 public:
  // The timeout starts now; none waits forever. `options`, with a clock and a
  // logger, must outlive this.
  Wait(const TrialOptions& options, const Storage& storage,
       std::optional<std::chrono::nanoseconds> timeout,
       std::chrono::nanoseconds first_reminder = std::chrono::seconds(10));

  bool is_over() const;

  // Sleeps until the next poll. After `first_reminder` and every 10 s from then
  // on, logs that it is still waiting for `what`. Fails with `interrupted`.
  Status pause(std::string_view what);

 private:
  const TrialOptions& options_;
  std::chrono::nanoseconds start_;
  std::optional<std::chrono::nanoseconds> timeout_;
  std::chrono::nanoseconds next_reminder_;
  std::chrono::nanoseconds poll_;
};

// Sleeps for `duration`, in short pieces if there is a `check_interrupt` to ask
// between them. Fails with `interrupted`.
Status sleep_for(std::chrono::nanoseconds duration, const Clock& clock,
                 const std::function<bool()>& check_interrupt);

class __attribute__((visibility("hidden"))) Trial::Impl {
 public:
  Impl(std::shared_ptr<const Storage> storage, TrialOptions options);

  // Waits until the run can be opened. Returns the folder below that holds it,
  // such as that of a job of SageMaker; empty if it is here. Fails as
  // `Trial::open`.
  Result<std::string_view> wait_for_run();

  // Fails with `interrupted` if `check_interrupt` ends the end delay.
  Status refresh();
  // Refreshes before a query, unless refreshing is off. Logs a failure once.
  // Cannot be interrupted, because most queries return no error.
  void refresh_for_query();
  // Logs a failure, unless it is the one that was logged last.
  void log_failure(const Status& status);

  // Loads the statistics of the run into `table()`, now and at each refresh.
  void load_statistics();

  const RunTable& table() const { return index_.table(); }
  const Storage& storage() const { return *storage_; }
  const TrialOptions& options() const { return options_; }
  const Clock& clock() const { return *options_.clock; }
  Logger& logger() const { return *options_.logger; }
  const Completeness& completeness() const { return completeness_; }
  const RunCollections& collections() const { return collections_; }

  // The workers of the collections files, or of the index files if there are no
  // collections files.
  std::vector<std::string> workers() const;
  std::vector<Damage> damage() const;
  // The index file of a step that could not be read, or none. Finds global
  // steps only: the file would have named its step of the mode.
  std::optional<std::string> find_damaged_index(Step step, Mode mode) const;
  // The global step of a step of `mode`, or none.
  std::optional<Step> find_global(Step step, Mode mode) const;
  std::vector<std::string> sorted_names() const;
  // The names saved at one step of `mode`, or at any of its steps; sorted.
  std::vector<std::string> names_at(std::optional<Step> step, Mode mode) const;
  // Fails as `Trial::wait_for_steps` does.
  Status wait_for_step(Step step, Mode mode, Wait wait);

  // Returns the elements of an entry that has a record, and caches them if
  // `keep_values` is set. Waits for an event file that may still appear.
  Result<TensorValue> read_value(EntryId entry);
  // Does the same for several entries of one file, in one pass.
  Result<std::vector<TensorValue>> read_file_values(
      std::span<const EntryId> entries);
  // Reads entries of many files with several threads, without waiting. Values
  // that are missing, cached or damaged are empty: call `read_value` for those.
  std::vector<std::optional<TensorValue>> read_without_waiting(
      std::span<const EntryId> entries);

  WriterState writer_state();
  std::optional<RunWriter> writer() const;
  std::uint64_t attempt() const { return attempt_; }
  std::string framework() const;
  Result<std::vector<Attempt>> attempts() const;
  bool exists() const;
  // Reads the facts of the run, now and at each refresh. Fails as
  // `RunFactsFiles::refresh`.
  Status load_facts();
  const std::vector<WorkerFacts>& facts() const { return facts_.all(); }
  // Reads the scalar series of the run, now and at each refresh. Fails as
  // `RunSeriesFiles::refresh`.
  Status load_series();
  const RunSeriesFiles& series() const { return series_; }

  Result<Step> feed(ObservationSink& sink, std::size_t run, Step first,
                    const std::function<bool(std::string_view)>& wanted,
                    Step end);

  std::recursive_mutex turn;
  bool is_refreshing = true;

 private:
  Status refresh(const std::function<bool()>& check_interrupt);
  // Reads what is new. `root_changed`: the folder of the run may have an entry
  // that it did not have at the last call.
  Status load(bool root_changed, bool all_folders);
  void follow_attempt();
  void restart();
  // Returns whether the run can be opened. Fails with `collections_missing`.
  Result<bool> can_open();
  // Returns why the run cannot be opened when the timeout has passed, if so.
  Status on_timeout();
  std::string waiting_text() const;
  Error step_error(Step step, Mode mode, StepState state) const;
  Step last_step(Mode mode) const;  // -1: none
  // Reads each value that is not cached and available now into `values`. Safe
  // from several threads at once.
  void read_ahead(std::span<const EntryId> entries,
                  std::span<std::optional<TensorValue>> values) const;
  const TensorValue* find_kept(EntryId entry) const;
  void keep(EntryId entry, const TensorValue& value);
  void note_unreadable(EntryId entry, const Error& error);
  bool is_missing(EntryId entry) const;
  bool may_still_appear(EntryId entry);
  bool has_writer_exited() const;
  bool lacks_workers() const;
  struct Feed;
  // The feed that continues at `first`, or a new one.
  Feed& feed_of(ObservationSink& sink, std::size_t run, Step first);
  void report_collections(Feed& feed, ObservationSink& sink);
  // Reports the facts that hold at `step` and were not reported yet.
  void report_facts(Feed& feed, ObservationSink& sink, Step step) const;

  std::shared_ptr<const Storage> storage_;
  TrialOptions options_;
  RunIndex index_;
  RunCollections collections_;
  RunFactsFiles facts_;
  RunSeriesFiles series_;
  Completeness completeness_;
  EventFiles event_files_;
  std::uint64_t attempt_ = 0;
  // Of the folder of the run, from before it was read last.
  std::optional<std::uint64_t> root_version_;
  std::string logged_failure_;
  bool has_statistics_ = false;
  bool has_facts_ = false;
  bool has_series_ = false;
  std::map<EntryId, TensorValue> kept_values_;
  std::map<std::string, std::string> unreadable_;  // event file -> reason

  // The position of a sink, so that its next feed can continue. Several sinks
  // may be fed in turn.
  struct Feed {
    const ObservationSink* sink;
    std::size_t run;
    Step first;
    Step next = first;
    int collections_version = -1;  // -1: none were reported
    Step facts_from = 0;
    SeriesCursor scalars = SeriesCursor(first);
  };
  std::vector<Feed> feeds_;
};

}  // namespace smdebug
