#pragma once

// `StatusWriter` keeps the status files of rules that judge inside the training
// step. It is a `RuleWatch` without actions on its own thread, so that a slow
// or full disk delays no step. Of several writers of one rule, the first one
// writes the status and the others log this.
//
// Used by the training thread. In the child of a fork it writes nothing,
// because the files belong to the parent.

#include <memory>
#include <span>

#include "smdebug/actions/rule_watch.h"

namespace [[gnu::visibility("default")]] smdebug {

class StatusWriter {
 public:
  /// Touches no file before the first `update`. `options.say` is called on the
  /// writer's thread.
  explicit StatusWriter(RuleWatchOptions options);
  /// Same as `finish` with the last verdicts.
  ~StatusWriter();
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;

  /// Takes the current verdicts, in the order of the rules, and returns at
  /// once. They are written if a status has changed, otherwise every
  /// `options.interval`. While the disk is busy, new verdicts replace waiting
  /// ones.
  void update(std::span<const Verdict> verdicts, const WatchProgress& progress);

  /// Stops all writing, because the files of the run were removed and must not
  /// be created again.
  void forget_run();

  /// Writes the last status of each rule and releases the rules. Returns when
  /// this is done. A second call does nothing.
  void finish(std::span<const Verdict> verdicts, const WatchProgress& progress);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
