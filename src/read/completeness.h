#pragma once

// `Completeness` knows which steps are over: those that every worker wrote,
// and those that are given up on because newer ones are complete or too many
// newer ones are known. It also knows where the next listing starts. It reads
// nothing; `Trial` tells it when the table has grown.

#include <string>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"

#include "index/run_table.h"

namespace smdebug {

class Completeness {
 public:
  explicit Completeness(int window) : window_(window) {}

  // Call after each refresh. `last_worker` is the last one by name.
  void update(const RunTable& table, int num_workers,
              std::string_view last_worker);

  // No step will follow, and none is still missing a worker.
  void end(const RunTable& table);

  bool has_ended() const { return has_ended_; }
  Step last_complete_step() const { return last_complete_; }

  // True if every worker wrote this step.
  bool is_whole(const IndexedStep& step) const;
  bool is_over(Step global_step) const {
    return has_ended_ || global_step <= last_complete_;
  }
  StepState state(const RunTable& table, Step step, Mode mode) const;

  // Where the original would list from: the key of an index file, or empty.
  const std::string& last_index_token() const { return token_; }
  // Where we list from: before the oldest step that still misses a worker, so
  // that a late file is found.
  std::string listing_start() const;

 private:
  void advance_listing(const RunTable& table);

  int window_;
  int num_workers_ = 1;
  Step last_complete_ = -1;
  bool has_ended_ = false;
  std::string token_;
  Step token_step_ = 0;
  Step listed_step_ = -1;  // up to here nothing is looked for again
};

}  // namespace smdebug
