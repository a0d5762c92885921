#pragma once

// Keeps the files of one worker below `HookConfig::max_run_bytes`: after each
// published step it removes the oldest steps until the rest fits. The step
// writer uses it on the write thread. It tracks sizes and calls
// `Storage::remove`, and never reads files.
//
// It removes a step's index file first and then its event file, so that every
// index file that can be listed has its event file.

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
  std::optional<Step> first_kept_step;  // none until a step was removed
};

class RunSizeLimit {
 public:
  // Keeps at most `max_bytes` of event and index files. Steps that are a
  // multiple of `keep_every` are removed after all others; 0 treats all steps
  // alike. `logger` outlives it.
  RunSizeLimit(std::shared_ptr<Storage> storage, std::string worker,
               std::uint64_t max_bytes, Step keep_every, Logger& logger);

  // Creates the limit of a configuration; null if it sets none, or if `storage`
  // is null.
  static std::unique_ptr<RunSizeLimit> make(const HookConfig& config,
                                            std::shared_ptr<Storage> storage,
                                            std::string worker, Logger& logger);

  // Call it after the files of `step`, of `bytes` in total, were published.
  // Removes older steps if the limit is exceeded, but never this step. The
  // first call also counts the files of earlier attempts of this worker, as
  // older than those of this attempt. The first file that cannot be removed is
  // logged; each later step tries again.
  void published(Step step, std::uint64_t bytes);

  const RemovalCounts& counts() const { return counts_; }

 private:
  struct PublishedStep {
    Step step = 0;
    std::uint64_t bytes = 0;
  };
  // By order of publication.
  using Steps = std::map<std::uint64_t, PublishedStep>;

  void find_older_attempts();
  void add(Step step, std::uint64_t bytes);
  void forget(Step step);
  Steps& class_of(Step step);
  // The step to remove next, or none: the newest step is never removed.
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
