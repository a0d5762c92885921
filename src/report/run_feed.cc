#include "smdebug/report/run_feed.h"

namespace smdebug {

Result<std::size_t> RunFeed::advance(Step end) {
  if (trial_.last_complete_step() < end - 1) SMD_CHECK_OK(trial_.refresh());
  const std::size_t before = steps_fed_;
  const auto wanted = [this](std::string_view name) {
    return runner_.interest(run_, name) != Interest::none;
  };
  SMD_TRY(next_, trial_.feed(*this, run_, next_, wanted, end));
  return steps_fed_ - before;
}

void RunFeed::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  runner_.on_run_end(run_);
}

void RunFeed::on_collections(std::size_t run,
                             std::span<const TensorGroup> collections) {
  runner_.on_collections(run, collections);
}

void RunFeed::on_step(const StepView& step) {
  runner_.on_step(step);
  ++steps_fed_;
  if (on_step_) on_step_(step.step);
}

void RunFeed::on_tick(double wall_seconds) { runner_.on_tick(wall_seconds); }

void RunFeed::on_run_end(std::size_t) { finish(); }

}  // namespace smdebug
