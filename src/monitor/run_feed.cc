#include "monitor/run_feed.h"

#include "smdebug/base/try.h"

namespace smdebug {

Status RunFeed::advance(Step end) {
  if (trial_.is_refreshing() && trial_.last_complete_step() < end - 1) {
    SMD_CHECK_OK(trial_.refresh());
  }
  if (trial_.attempt() != attempt_) {
    attempt_ = trial_.attempt();
    has_restarted_ = std::exchange(next_, first_) != first_;
    return {};
  }
  const auto is_wanted = [this](std::string_view name) {
    return sink_.data_need(run_, name) != ObservationSink::DataNeed::none;
  };
  SMD_TRY(next_, trial_.feed(sink_, run_, next_, is_wanted, end));
  return {};
}

Result<ComparedRuns> ComparedRuns::open(RuleRunner& runner, const Clock& clock,
                                        const std::optional<WaitLimit>& limit) {
  ComparedRuns runs;
  for (const std::string& location : runner.other_runs()) {
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    options.end_delay = std::chrono::nanoseconds(0);
    options.clock = &clock;
    options.storage_limit = limit;
    auto trial = Trial::open(location, options);
    if (!trial) {
      return std::move(trial).error().within("a run to compare with");
    }
    runs.trials_.push_back(*std::move(trial));
    runs.feeds_.emplace_back(*runs.trials_.back(), runner, runs.trials_.size());
  }
  return runs;
}

void ComparedRuns::follow(const StepId& step) {
  if (error_) return;
  for (RunFeed& feed : feeds_) {
    if (auto fed = feed.advance(step.global + 1); !fed) {
      error_ = std::move(fed).error();
      return;
    }
  }
}

Status ComparedRuns::finish(RuleRunner& runner) {
  for (std::size_t run = 1; run <= feeds_.size(); ++run) runner.on_run_end(run);
  feeds_.clear();
  if (error_) return *error_;
  return {};
}

}  // namespace smdebug
