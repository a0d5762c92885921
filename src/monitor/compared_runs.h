#pragma once

// The runs that rules compare the judged one with (SimilarAcrossRuns): opened
// once, and fed to the runner in step with it.

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "smdebug/rules/runner.h"

#include "monitor/run_feed.h"

namespace smdebug {

class ComparedRuns {
 public:
  // Opens every run that `runner` names, which outlives this. Fails as
  // `Trial::open`, for the first that cannot be opened.
  static Result<ComparedRuns> open(RuleRunner& runner, const Clock& clock);

  // Feeds each run up to and including that step of the judged one. A run that
  // cannot be read is fed no further.
  void follow(const StepId& step);

  // Ends the feeds, and returns the first failure.
  Status finish(RuleRunner& runner);

 private:
  std::vector<std::unique_ptr<Trial>> trials_;
  std::deque<RunFeed> feeds_;
  std::optional<Error> error_;
};

}  // namespace smdebug
