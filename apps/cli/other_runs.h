#pragma once

// The runs that rules compare the judged one with (SimilarAcrossRuns): opened
// once, and fed to the runner in step with it.

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "smdebug/report/run_feed.h"

#include "console.h"

namespace smdebug {

class OtherRuns {
 public:
  // Opens every run that `runner` names, which outlives this. Fails as
  // `open_run`, for the first that cannot be opened.
  static Result<OtherRuns> open(RuleRunner& runner, const Console& console);

  // Feeds each run up to and with that step of the judged one. A run that
  // cannot be read is fed no further.
  void follow(const StepId& step);

  // Says that no step will follow, and returns the first failure.
  Status finish();

 private:
  std::vector<std::unique_ptr<Trial>> trials_;
  std::deque<RunFeed> feeds_;
  std::optional<Error> error_;
};

}  // namespace smdebug
