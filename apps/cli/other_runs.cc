#include "other_runs.h"

#include "opened_run.h"

namespace smdebug {

Result<OtherRuns> OtherRuns::open(RuleRunner& runner, const Console& console) {
  OtherRuns runs;
  for (const std::string& location : runner.other_runs()) {
    auto trial = open_run(location, console);
    if (!trial) {
      return std::move(trial).error().within("a run to compare with");
    }
    runs.trials_.push_back(*std::move(trial));
    runs.feeds_.emplace_back(*runs.trials_.back(), runner, runs.trials_.size());
  }
  return runs;
}

void OtherRuns::follow(const StepId& step) {
  if (error_) return;
  for (RunFeed& feed : feeds_) {
    if (auto fed = feed.advance(step.global + 1); !fed) {
      error_ = std::move(fed).error();
      return;
    }
  }
}

Status OtherRuns::finish() {
  for (RunFeed& feed : feeds_) feed.finish();
  if (error_) return *error_;
  return {};
}

}  // namespace smdebug
