#pragma once

// `Completeness` decides which steps are complete: those that every worker
// wrote, and those that are no longer waited for, because a newer one is
// complete or too many newer ones exist. It also decides where the next listing
// starts. It reads no files; `Trial` calls `update` when the table has grown.

#include <string>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"

#include "index/run_table.h"

namespace smdebug {

class Completeness {
 public:
  explicit Completeness(int window) : window_(window) {}

  // Call it after each refresh. `last_worker` is the last one by name.
  void update(const RunTable& table, int num_workers,
              std::string_view last_worker);

  // The run has ended: every step that exists is complete.
  void end(const RunTable& table);

  bool has_ended() const { return has_ended_; }
  Step last_complete_step() const { return last_complete_; }

  // Returns whether every worker wrote this step.
  bool is_whole(const IndexedStep& step) const;
  bool is_over(Step global_step) const {
    return has_ended_ || global_step <= last_complete_;
  }
  StepState state(const RunTable& table, Step step, Mode mode) const;

  // The key of the index file from which the original would list, or empty.
  const std::string& last_index_token() const { return token_; }
  // The key from which to list: before the oldest step that still lacks a
  // worker, so that late files are found.
  std::string listing_start() const;

 private:
  void advance_listing(const RunTable& table);

  int window_;
  int num_workers_ = 1;
  Step last_complete_ = -1;
  bool has_ended_ = false;
  std::string token_;
  Step token_step_ = 0;
  Step listed_step_ = -1;  // steps up to here are not listed again
};

}  // namespace smdebug
