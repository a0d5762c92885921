#pragma once

// Keeps the files of one worker below `HookConfig::max_run_bytes`: after each
// published step it removes the oldest steps until the rest fits. Collections,
// statuses of rules and similar files count, but stay. The step writer uses it
// on the write thread. It tracks sizes, lists files and calls
// `Storage::remove`, and never reads files.
//
// Steps are removed by age: first ordinary ones, then multiples of
// `keep_every`, and at last those that a rule has fired on, with their
// neighbors. Rules that another process judges, such as those of `smdebug run`,
// leave a mark in the run for each such step.
//
// It removes a step's index file first and then its event file, so that every
// index file that can be listed has its event file.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
  // Keeps at most `max_bytes` of files. Steps that are a multiple of
  // `keep_every` are removed after all others; 0 treats all steps alike.
  // `logger` outlives it.
  RunSizeLimit(std::shared_ptr<Storage> storage, std::string worker,
               std::uint64_t max_bytes, Step keep_every, Logger& logger);

  // Creates the limit of a configuration; null if it sets none, or if `storage`
  // is null.
  static std::unique_ptr<RunSizeLimit> make(const HookConfig& config,
                                            std::shared_ptr<Storage> storage,
                                            std::string worker, Logger& logger);

  // Call it after the files of `step`, of `bytes` in total, were published.
  // `tensorboard_bytes` are the files for TensorBoard so far. Removes older
  // steps if the limit is exceeded, but never this step. The first call also
  // counts the files of earlier attempts of this worker, as older than those of
  // this attempt. The first file that cannot be removed is logged; each later
  // step tries again.
  void published(Step step, std::uint64_t bytes,
                 std::uint64_t tensorboard_bytes = 0);

  // Removes `step`, and the steps published before and after it, after all
  // others: a rule has fired on it. It need not be published yet.
  void keep(Step step);

  const RemovalCounts& counts() const { return counts_; }

 private:
  // In the order of their removal.
  enum class Rank : std::uint8_t { ordinary, special, kept };
  static constexpr std::size_t kRanks = 3;
  // A step of this attempt, or of one whose files are in `attempts/`.
  struct Place {
    std::string folder;  // "attempts/1/"; empty: this attempt
    Step step = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct PublishedStep {
    Place place;
    std::uint64_t bytes = 0;
  };
  // By order of publication.
  using Steps = std::map<std::uint64_t, PublishedStep>;
  struct Position {
    Rank rank = Rank::ordinary;
    std::uint64_t age = 0;
  };

  void find_older_attempts();
  void measure_other_files();
  void add(const Place& place, std::uint64_t bytes);
  void forget(const Place& place);
  void keep_marked_steps();
  void move_to_kept(Step step);
  Rank rank_of(const Place& place) const;
  Steps& steps(Rank rank) { return steps_[static_cast<std::size_t>(rank)]; }
  // The step to remove next, or none: the newest step is never removed.
  std::optional<Place> next_to_remove() const;
  Status remove_files(const Place& place);
  void note_removed(const Place& place);

  const std::shared_ptr<Storage> storage_;
  const std::string worker_;
  const std::uint64_t max_bytes_;
  const Step keep_every_;
  Logger& logger_;

  bool knows_older_attempts_ = false;
  bool has_failed_ = false;
  std::uint64_t next_age_ = 0;
  std::uint64_t published_ = 0;    // calls
  std::uint64_t bytes_ = 0;        // of steps
  std::uint64_t other_bytes_ = 0;  // of all other files but TensorBoard's
  std::array<Steps, kRanks> steps_;
  std::map<Place, Position> positions_;
  std::set<Step> fired_;  // of this attempt
  std::set<Step> neighbors_;
  RemovalCounts counts_;
};

}  // namespace smdebug
