#pragma once

// Keeps the files of one worker below a size: when a step was published, the
// oldest ones are removed until the rest fits. Used by the step writer, on the
// write thread. It keeps books and calls `Storage::remove`; it never reads.
//
// Of a step the index file goes first, then the event file: an index file that
// can be listed has its event file, as ever.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "smdebug/base/logger.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/core/mode.h"
#include "smdebug/store/storage.h"

namespace smdebug {

struct RemovalCounts {
  std::uint64_t removed_steps = 0;
  std::optional<Step> first_kept_step;  // none while nothing was removed
};

class RunSizeLimit {
 public:
  // Keeps at most `max_bytes` of event and index files. Steps that are a
  // multiple of `keep_every` go after all others; 0: no step is special.
  // `logger` outlives it.
  RunSizeLimit(std::shared_ptr<Storage> storage, std::string worker,
            std::uint64_t max_bytes, Step keep_every, Logger& logger);

  // What the configuration asks for; null where it sets no limit or nothing
  // is written.
  static std::unique_ptr<RunSizeLimit> make(const HookConfig& config,
                                         std::shared_ptr<Storage> storage,
                                         std::string worker, Logger& logger);

  // The files of `step` are there and have `bytes`. Removes what is too much,
  // but never this step. The first call also finds what earlier attempts of
  // this worker left in the run; that is older than anything of this one. A
  // file that cannot be removed stays, is said once in the log, and is tried
  // again after the next step.
  void published(Step step, std::uint64_t bytes);

  const RemovalCounts& counts() const { return counts_; }

 private:
  struct PublishedStep {
    Step step = 0;
    std::uint64_t bytes = 0;
  };
  // By age: the order of publication.
  using Steps = std::map<std::uint64_t, PublishedStep>;

  void find_older_attempts();
  void add(Step step, std::uint64_t bytes);
  void forget(Step step);
  Steps& class_of(Step step);
  // The next to go, or none: the youngest of all stays.
  std::optional<PublishedStep> oldest() const;
  Status remove_files(Step step);
  void note_removed(Step step);

  const std::shared_ptr<Storage> storage_;
  const std::string worker_;
  const std::uint64_t max_bytes_;
  const Step keep_every_;
  Logger& logger_;

  bool knows_older_attempts_ = false;
  bool has_failed_ = false;
  std::uint64_t next_age_ = 0;
  std::uint64_t bytes_ = 0;
  Steps ordinary_;
  Steps special_;
  std::map<Step, std::uint64_t> ages_;
  RemovalCounts counts_;
};

}  // namespace smdebug
