#include "monitor/run_status.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "smdebug/actions/perform_once.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"
#include "smdebug/store/bounded_storage.h"

namespace smdebug {
namespace {

// The time to find the newest step of a run grows with its steps.
constexpr std::chrono::seconds kLagInterval(1);

// The files are small, and the training's end waits for the last ones.
constexpr std::chrono::seconds kStatusTimeout(10);

}  // namespace

WaitLimit status_limit(std::function<bool()> check_interrupt) {
  WaitLimit limit = WaitLimit::from_environment(std::move(check_interrupt));
  limit.at_most =
      std::min<std::chrono::milliseconds>(limit.at_most, kStatusTimeout);
  return limit;
}

Result<std::unique_ptr<RunStatus>> RunStatus::create(
    const RunMonitorOptions& options, const Clock& clock,
    std::function<Result<StopOutcome>()> stop_training) {
  auto status = std::unique_ptr<RunStatus>(new RunStatus(options, clock));
  if (options.actions.empty() && !options.is_live) return status;
  ActionSettings settings = action_settings_from_environment(default_logger());
  settings.clock = &clock;
  settings.stop_training = std::move(stop_training);
  for (const ActionRequest& request : options.actions) {
    SMD_TRY(auto action, make_action(request, settings));
    status->actions_.push_back(std::move(action));
  }
  if (options.is_live) {
    SMD_TRY(status->stop_on_request_,
            make_action({ActionKind::stop, ""}, settings));
  }
  return status;
}

void RunStatus::open(Trial& trial, std::span<const Verdict> verdicts) {
  trial_ = &trial;
  watch_.reset();
  writer_.reset();
  progress_ = {};
  using StatusFiles = RunMonitorOptions::StatusFiles;
  if (options_.status_files == StatusFiles::none) return;
  auto storage = open_bounded_storage(trial.location(),
                                      status_limit(options_.check_interrupt),
                                      MissingFolder::keep_removed);
  if (!storage) {
    if (options_.on_message) options_.on_message(storage.error().message);
    return;
  }
  RuleWatchOptions options;
  options.storage = *std::move(storage);
  for (const Verdict& verdict : verdicts) options.rules.push_back(verdict.rule);
  options.attempt = trial.attempt();
  options.clock = &clock_;
  options.say = [this](const std::string& text) {
    if (options_.on_message) options_.on_message(text);
  };
  if (options_.status_files == StatusFiles::in_background) {
    writer_ = std::make_unique<StatusWriter>(std::move(options));
    return;
  }
  options.actions = actions_;
  options.limits = options_.limits;
  options.stop_on_request = stop_on_request_;
  watch_ = std::make_unique<RuleWatch>(std::move(options));
}

void RunStatus::count_step(const StepId& step, Step last_complete) {
  ++progress_.steps_fed;
  progress_.last_fed = step.global;
  // A backlog counts as lag before it is fed.
  progress_.last_known =
      std::max({progress_.last_known, step.global, last_complete});
  update_lag();
}

void RunStatus::announce(const Verdict& verdict,
                         std::span<const Verdict> verdicts) {
  if (!trial_ && verdict.status == RuleStatus::issues_found) {
    act_without_run(verdict);
  }
  update(verdicts);
}

// A training may hang before its first step.
void RunStatus::act_without_run(const Verdict& verdict) {
  std::vector<std::shared_ptr<Action>> actions = actions_;
  if (verdict.stop_training && stop_on_request_) {
    actions.insert(actions.begin(), stop_on_request_);
  }
  RecordPlace place;
  place.rule = rule_key(verdict.rule, 0);
  place.clock = &clock_;
  for (const auto& action : actions) {
    if (!options_.limits.allow(action->request(), verdict)) continue;
    results_without_run_.push_back(
        perform_once(*action, {"", clock_.wall_seconds(), verdict}, place));
  }
}

void RunStatus::update(std::span<const Verdict> verdicts) {
  if (watch_) watch_->update(verdicts, progress_);
  if (writer_) writer_->update(verdicts, progress_);
}

void RunStatus::look(std::span<const Verdict> verdicts) {
  if (watch_) measure_lag();
  update(verdicts);
}

MonitorLag RunStatus::lag() const {
  const Step steps = progress_.last_known - progress_.last_fed;
  if (!behind_since_ || steps <= 0) return {};
  return {steps, progress_.lag_seconds};
}

void RunStatus::measure_lag() {
  const auto now = clock_.monotonic();
  if (now >= next_lag_) {
    const auto steps = trial_->steps(Mode::global, /*incomplete=*/true);
    if (!steps.empty()) progress_.last_known = steps.back();
    next_lag_ = now + kLagInterval;
  }
  update_lag();
}

void RunStatus::update_lag() {
  const auto now = clock_.monotonic();
  if (progress_.last_known <= progress_.last_fed)
    behind_since_.reset();
  else if (!behind_since_)
    behind_since_ = now;
  const std::chrono::duration<double> behind =
      now - behind_since_.value_or(now);
  progress_.lag_seconds = behind.count();
}

void RunStatus::say_stopping() {
  if (watch_) watch_->say_stopping();
}

void RunStatus::forget_run() {
  if (watch_) watch_->forget_run();
  if (writer_) writer_->forget_run();
}

std::vector<ActionResult> RunStatus::finish(std::span<const Verdict> verdicts) {
  if (const auto writer = std::exchange(writer_, nullptr)) {
    writer->finish(verdicts, progress_);
  }
  auto results = std::exchange(results_without_run_, {});
  const auto watch = std::exchange(watch_, nullptr);
  if (!watch) return results;
  watch->update(verdicts, progress_);
  watch->finish();
  std::ranges::copy(watch->results(), std::back_inserter(results));
  return results;
}

}  // namespace smdebug
