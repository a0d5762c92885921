#pragma once

// `StatusWriter` keeps the status files of rules that judge inside the training
// step: a `RuleWatch` without actions, in a thread of its own, so that a slow
// or full disk holds up no step. Of several writers of one rule the first one
// keeps the status, as with every watch; the others say so.
//
// It is used by the thread that trains. In the child of a fork it writes
// nothing: the files are the parent's.

#include <memory>
#include <span>

#include "smdebug/actions/rule_watch.h"

namespace smdebug {

class StatusWriter {
 public:
  /// Touches nothing before the first `update`. `options.say` is called from
  /// the writer's thread.
  explicit StatusWriter(RuleWatchOptions options);
  /// As `finish`, with what it was told last.
  ~StatusWriter();
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;

  /// Takes the verdicts as they are now, in the order of the rules, and
  /// returns at once: they are written where a status has changed, and every
  /// `options.interval` else. What comes while the disk is busy takes the place
  /// of what waits.
  void update(std::span<const Verdict> verdicts, const WatchProgress& progress);

  /// The files of the run are gone: nothing is written any more, so that the
  /// run is not created anew.
  void forget_run();

  /// Writes the last status of each rule and lets go of the rules. Returns when
  /// that is done. A second call does nothing.
  void finish(std::span<const Verdict> verdicts, const WatchProgress& progress);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
