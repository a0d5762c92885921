#pragma once

// Keeps the attempts of a training apart. A training that is started again in
// the folder of a run without an end marker is a new attempt: it writes steps
// again that an earlier attempt has written. Before its first file, those steps
// are moved to `attempts/<number>/`, which is a complete run of its own
// (docs/format.md), so that the folder holds each step once.
//
// An attempt that begins at step 0 leaves nothing in place; one that continues
// from a checkpoint leaves the steps before its first. The first worker moves
// the files of all workers. The others wait for it if the folder holds an
// earlier attempt, because it could not tell their new files from old ones. In
// a new folder, no worker waits.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

#include "format/series_file.h"

namespace smdebug {

class AttemptStart {
 public:
  struct Attempt {
    Step first_step = 0;
    // The number of the attempt before this one in `run.json`; 0: none is
    // recorded. Only the first worker knows it.
    std::uint64_t earlier = 0;
    bool is_first_worker = true;
    std::string worker;  // the name of the worker that begins
    // A time between the end of that attempt and the first step of this one.
    double began_seconds = 0;
  };

  // `clock` and `logger` must outlive it.
  AttemptStart(std::shared_ptr<Storage> storage, Attempt attempt,
               const Clock& clock, Logger& logger);

  // Call it before anything is written. Returns whether files of the earlier
  // attempt may remain where this one writes, because the first worker did not
  // move them in time. Fails with `io` if files cannot be listed or moved.
  Result<bool> run();

  // How long a worker waits for the first one. After that it writes into the
  // folder as it is, and logs a warning.
  static constexpr std::chrono::seconds kLongestWait{30};

 private:
  // The files with steps from the first of this attempt on.
  struct EarlierFiles {
    // The keys of each step: of index files, then of event files.
    std::map<Step, std::vector<std::string>> steps;
    std::vector<std::string> series;

    bool empty() const { return steps.empty() && series.empty(); }
  };

  Result<EarlierFiles> find_earlier_files() const;
  Status add_series(EarlierFiles& files) const;
  Status move_aside(const EarlierFiles& files);
  Status move_series(const std::string& key);
  Result<std::vector<std::string>> replaced_statistics() const;
  Status move_statistics();
  Status move_each(const std::vector<std::string>& keys);
  Status remove_stray_statistics();
  void move_fired_marks();
  Status put_series(SeriesFile file, std::uint64_t number, bool aside);
  Status move_or_copy_all(std::string_view prefix);
  Status complete_earlier_run();
  bool are_of_earlier_attempt(const EarlierFiles& files) const;
  Result<bool> wait_for_first_worker();
  Result<bool> is_folder_ready() const;
  std::string key_aside(std::string_view key) const;

  const std::shared_ptr<Storage> storage_;
  const Attempt attempt_;
  const Clock& clock_;
  Logger& logger_;
};

}  // namespace smdebug
