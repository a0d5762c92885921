#pragma once

// What `Trial`, `Tensor` and the feed share: the table of the run, kept in
// step with its files.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/read/trial.h"

#include "index/run_index.h"
#include "read/completeness.h"
#include "read/event_files.h"
#include "read/run_collections.h"
#include "read/wait.h"

namespace smdebug {

class Trial::Impl {
 public:
  Impl(std::shared_ptr<const Storage> storage, TrialOptions options);

  // Waits until there is something to read, as `Trial::open` says.
  Status wait_for_run();

  // Fails with `interrupted` if a signal arrives during the end delay.
  Status refresh();
  // Refreshes before a query, unless that is off. Logs a failure once. Cannot
  // be interrupted: most queries have no error to return.
  void refresh_for_query();

  // From now on `table()` has statistics where the run has them.
  void load_statistics();

  const RunTable& table() const { return index_.table(); }
  const Storage& storage() const { return *storage_; }
  const TrialOptions& options() const { return options_; }
  const Clock& clock() const { return *options_.clock; }
  Logger& logger() const { return *options_.logger; }
  const Completeness& completeness() const { return completeness_; }
  const RunCollections& collections() const { return collections_; }

  // From the collections files; from the index files where there are none.
  std::vector<std::string> workers() const;
  std::vector<Damage> damage() const;
  // The global step of a step of `mode`, or none.
  std::optional<Step> find_global(Step step, Mode mode) const;
  std::vector<std::string> sorted_names() const;
  // Sorted: those of one step of `mode`, or of all its steps.
  std::vector<std::string> names_at(std::optional<Step> step, Mode mode) const;
  // Fails as `Trial::wait_for_steps` does.
  Status wait_for_step(Step step, Mode mode, Wait wait);

  // The elements of an entry that has a record, kept in memory if the options
  // ask for it. Waits for an event file that may still come.
  Result<TensorValue> read_value(EntryId entry);
  // The same for entries of one file, in one pass.
  Result<std::vector<TensorValue>> read_file_values(
      std::span<const EntryId> entries);
  // The same for entries of many files, read by several threads: each value
  // that can be read without waiting. The others are empty: ask `read_value`.
  std::vector<std::optional<TensorValue>> read_without_waiting(
      std::span<const EntryId> entries);

  WriterState writer_state();
  std::optional<RunWriter> writer() const;
  std::uint64_t attempts() const;
  bool exists() const;

  Result<Step> feed(ObservationSink& sink, std::size_t run, Step first,
                    const std::function<bool(std::string_view)>& wanted,
                    Step end);

  bool is_refreshing = true;

 private:
  Status refresh(const std::function<bool()>& check_interrupt);
  Status load(bool all_folders);
  // True if the run can be opened. Fails with `collections_missing`.
  Result<bool> is_described();
  Status time_is_over();
  std::string waiting_text() const;
  Error step_error(Step step, Mode mode, StepState state) const;
  Step last_step(Mode mode) const;  // -1: none
  // Puts in its place each value that is not kept and can be read at once.
  // Safe to call from several threads.
  void read_ahead(std::span<const EntryId> entries,
                  std::span<std::optional<TensorValue>> values) const;
  const TensorValue* find_kept(EntryId entry) const;
  void keep(EntryId entry, const TensorValue& value);
  bool is_missing(EntryId entry) const;
  bool may_still_come(EntryId entry);
  bool has_lost_its_writer() const;
  bool misses_workers() const;
  void tell_collections(ObservationSink& sink, std::size_t run, Step first);

  std::shared_ptr<const Storage> storage_;
  TrialOptions options_;
  RunIndex index_;
  RunCollections collections_;
  Completeness completeness_;
  EventFiles event_files_;
  std::string logged_failure_;
  bool has_statistics_ = false;
  std::map<EntryId, TensorValue> kept_values_;
  std::map<std::string, std::string> unreadable_;  // event file -> what, first

  // Whom the last feed served, so that the next one can go on from it.
  struct Feed {
    const ObservationSink* sink = nullptr;
    std::size_t run = 0;
    Step next = 0;
    int collections_version = 0;
    friend bool operator==(const Feed&, const Feed&) = default;
  };
  Feed last_feed_;
};

// "step 4" or "step 2 of TRAIN".
std::string step_text(Step step, Mode mode);

}  // namespace smdebug
