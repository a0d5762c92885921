#include "watched_rules.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/printable.h"
#include "smdebug/store/open_storage.h"

#include "report_files.h"

namespace smdebug {
namespace {

// Asking a run for its newest step costs as much as it has steps.
constexpr std::chrono::seconds kLagInterval(1);

Result<StopOutcome> stop_writer(Trial* trial, const Clock& clock) {
  const auto writer = trial ? trial->writer() : std::nullopt;
  if (!writer) {
    return Error{Error::Code::not_found,
                 "the run names no process that trains on this machine"};
  }
  StopOptions options;
  options.clock = &clock;
  return stop_training_process(
      {writer->host, writer->process_id, writer->start_ticks}, options);
}

}  // namespace

Status WatchedRules::add_actions(
    std::span<const ActionRequest> requests,
    std::function<Result<StopOutcome>()> stop_training) {
  if (requests.empty()) return {};
  ActionSettings settings = action_settings_from_environment(default_logger());
  settings.clock = &console_.clock;
  settings.stop_training = stop_training ? std::move(stop_training) : [this] {
    return stop_writer(trial_, console_.clock);
  };
  for (const ActionRequest& request : requests) {
    SMD_TRY(auto action, make_action(request, settings));
    actions_.push_back(std::move(action));
  }
  return {};
}

void WatchedRules::open(Trial& trial, const RuleRunner& runner) {
  trial_ = &trial;
  runner_ = &runner;
  progress_ = {};
  behind_since_.reset();
  is_run_gone_ = false;
  if (files_ == Files::untouched) return;
  auto storage = open_storage(trial.location());
  if (!storage) {
    console_.err << "smdebug: " << storage.error().message << std::endl;
    return;
  }
  RuleWatchOptions options;
  options.storage = *std::move(storage);
  for (const Verdict& verdict : runner.verdicts()) {
    options.rules.push_back(verdict.rule);
  }
  options.actions = actions_;
  options.attempt = trial.attempts();
  options.clock = &console_.clock;
  options.say = [this](const std::string& text) {
    console_.err << "smdebug: " << printable_lines(text) << std::endl;
  };
  watch_ = std::make_unique<RuleWatch>(std::move(options));
}

void WatchedRules::on_step(const StepId& step) {
  ++progress_.steps_fed;
  progress_.last_fed = step.global;
  // A backlog is known before it is fed.
  progress_.last_known =
      std::max({progress_.last_known, step.global,
                trial_ ? trial_->last_complete_step() : Step(-1)});
  update(false);
}

void WatchedRules::look() { update(true); }

std::string WatchedRules::lag_text() const {
  const Step steps = progress_.last_known - progress_.last_fed;
  if (!behind_since_ || steps <= 0) return "";
  return fmt::format("{} {} ({:.1f} s) behind the training", steps,
                     steps == 1 ? "step" : "steps", progress_.lag_seconds);
}

// How far the run is ahead, and since when.
void WatchedRules::measure_lag(bool asks_the_run) {
  const auto now = console_.clock.monotonic();
  if (asks_the_run && now >= next_lag_) {
    const auto steps = trial_->steps(Mode::global, /*incomplete=*/true);
    if (!steps.empty()) progress_.last_known = steps.back();
    next_lag_ = now + kLagInterval;
  }
  if (progress_.last_known <= progress_.last_fed)
    behind_since_.reset();
  else if (!behind_since_)
    behind_since_ = now;
  const std::chrono::duration<double> behind =
      now - behind_since_.value_or(now);
  progress_.lag_seconds = behind.count();
}

void WatchedRules::update(bool asks_for_lag) {
  if (!watch_) return;
  measure_lag(asks_for_lag);
  watch_->update(runner_->verdicts(), progress_);
}

void WatchedRules::say_stopping() {
  if (watch_) watch_->say_stopping();
}

void WatchedRules::forget_run() {
  is_run_gone_ = true;
  if (watch_) watch_->forget_run();
}

void WatchedRules::write_reports() {
  if (!runner_ || is_run_gone_) return;
  const auto files = rule_report_files(*trial_, runner_->verdicts(),
                                       console_.clock.wall_seconds());
  const auto place = files ? write_report_files(trial_->location(), *files)
                           : Result<std::string>(files.error());
  if (!place) {
    console_.err << "smdebug: the report could not be written: "
                 << printable_lines(place.error().message) << std::endl;
  } else if (!place->empty()) {
    console_.err << "smdebug: report: " << printable_lines(*place) << std::endl;
  }
}

std::vector<ActionResult> WatchedRules::finish(
    const std::string& training_status) {
  write_reports();
  if (!watch_) return {};
  progress_.training_status = training_status;
  watch_->update(runner_->verdicts(), progress_);
  watch_->finish();
  return std::exchange(watch_, nullptr)->results();
}

}  // namespace smdebug
