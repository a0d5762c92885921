#pragma once

// `RunFeed` feeds the steps of a run to a sink: all of them, or the new ones
// while the run grows. `ComparedRuns` feeds the runs that rules compare the
// judged run with. Neither waits.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "smdebug/base/wait_limit.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/runner.h"

namespace smdebug {

class RunFeed {
 public:
  // `trial` and `sink` outlive this. `run` is the number of the run among those
  // that feed the same sink. Steps before `first` are not fed.
  RunFeed(Trial& trial, ObservationSink& sink, std::size_t run = 0,
          Step first = 0)
      : trial_(trial),
        sink_(sink),
        run_(run),
        first_(first),
        next_(first),
        attempt_(trial.attempt()) {}

  // Feeds every complete step before `end` that was not fed yet. If the
  // training was started again, feeds nothing, and the next call starts over.
  // Fails as `Trial::refresh` and `Trial::feed`.
  Status advance(Step end = std::numeric_limits<Step>::max());

  // Returns true once after the training was started again.
  bool take_restart() { return std::exchange(has_restarted_, false); }

  // Skips steps before `first` from now on.
  void skip_to(Step first) {
    first_ = std::max(first_, first);
    next_ = std::max(next_, first);
  }

 private:
  Trial& trial_;
  ObservationSink& sink_;
  std::size_t run_;
  Step first_;
  Step next_;
  std::uint64_t attempt_;
  bool has_restarted_ = false;
};

// Runs that are opened once and fed to the runner in step with the judged run
// (SimilarAcrossRuns).
class ComparedRuns {
 public:
  // Opens every run that the rules of `runner` compare with. `runner` outlives
  // this. `limit` is that of `TrialOptions`. Fails as `Trial::open` for the
  // first that cannot be opened.
  static Result<ComparedRuns> open(RuleRunner& runner, const Clock& clock,
                                   const std::optional<WaitLimit>& limit);

  // Feeds each run up to and including that step. After a failure, feeds
  // nothing more.
  void follow(const StepId& step);

  // Ends the feeds and returns the first failure.
  Status finish(RuleRunner& runner);

 private:
  std::vector<std::unique_ptr<Trial>> trials_;
  std::deque<RunFeed> feeds_;
  std::optional<Error> error_;
};

}  // namespace smdebug
