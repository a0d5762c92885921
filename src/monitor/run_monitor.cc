#include "smdebug/monitor/run_monitor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "smdebug/actions/action.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/rules/runner.h"

#include "monitor/run_feed.h"
#include "monitor/run_status.h"

namespace smdebug {

class __attribute__((visibility("hidden"))) RunMonitor::Impl
    : private ForwardingSink {
 public:
  Impl(std::string location, Trial* trial, Rules rules,
       RunMonitorOptions options)
      : ForwardingSink(runner_),
        location_(std::move(location)),
        options_(std::move(options)),
        clock_(options_.clock ? *options_.clock : system_clock()),
        request_(capture_request(rules, location_)),
        runner_(std::move(rules)) {
    listen();
    trial_ = trial;
  }

  Status prepare() {
    const auto stop = [this] {
      return options_.stop_training ? options_.stop_training()
                                    : stop_writer(trial_, clock_);
    };
    SMD_TRY(status_, RunStatus::create(options_, clock_, stop));
    SMD_TRY(compared_, ComparedRuns::open(runner_, clock_, storage_limit()));
    if (trial_) begin_feed();
    return {};
  }

  Result<std::uint64_t> poll() {
    const std::uint64_t before = steps_;
    const Status read = read_new_steps();
    // Even without a run: a training may hang before its first step.
    if (options_.is_live && !options_.was_over)
      runner_.on_tick(clock_.wall_seconds());
    status_->look(runner_.verdicts());
    error_ = read ? std::nullopt : std::optional(read.error());
    if (error_) return *error_;
    return steps_ - before;
  }

  void skip_to(Step first) {
    options_.first_step = std::max(options_.first_step, first);
    if (feed_) feed_->skip_to(first);
  }

  void stop() {
    status_->say_stopping();
    runner_.stop();
  }

  const MonitorResult& finish(std::string_view training_status) {
    if (result_) return *result_;
    result_.emplace();
    status_->set_training_status(training_status);
    const bool is_run_there = trial_ && trial_->exists();
    if (trial_ && !is_run_there) status_->forget_run();
    if (const Status read = compared_.finish(runner_); !read && !error_) {
      error_ = read.error();
    }
    runner_.on_run_end(0);
    if (is_run_there) {
      write_reports();
      result_->damage = trial_->damage();
      result_->recording_failure = recording_failure(*trial_);
    }
    result_->location = location_;
    result_->steps = steps_;
    result_->actions = status_->finish(runner_.verdicts());
    const std::span<const Verdict> verdicts = runner_.verdicts();
    result_->verdicts.assign(verdicts.begin(), verdicts.end());
    result_->error = error_;
    if (!trial_ && !error_) result_->error = missing_;
    return *result_;
  }

  const CaptureRequest& request() const { return request_; }
  Trial* trial() { return trial_; }
  std::span<const Verdict> verdicts() const { return runner_.verdicts(); }
  bool is_judging() const { return runner_.is_judging(); }
  MonitorLag lag() const { return status_->lag(); }

 private:
  // Receives the steps of the judged run; those of the runs that it is compared
  // with go directly to the runner.
  void on_step(const StepView& step) override {
    status_->count_step(step.step, trial_->last_complete_step());
    ForwardingSink::on_step(step);
    compared_.follow(step.step);
    ++steps_;
    if (options_.on_step) options_.on_step(step.step);
  }

  void listen() {
    runner_.set_on_verdict([this](const Verdict& v) { announce(v); });
  }

  // Reports a verdict to the caller and to the actions.
  void announce(const Verdict& verdict) {
    if (options_.on_verdict) options_.on_verdict(verdict);
    status_->announce(verdict, runner_.verdicts());
  }

  void begin_feed() {
    ObservationSink& sink = *this;
    feed_.emplace(*trial_, sink, 0, options_.first_step);
    status_->open(*trial_, runner_.verdicts());
  }

  // The training may hang with its storage; the monitor of a live run must not.
  std::optional<WaitLimit> storage_limit() const {
    if (options_.storage_limit || !options_.is_live) {
      return options_.storage_limit;
    }
    return WaitLimit::from_environment(options_.check_interrupt);
  }

  Status open_trial() {
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    options.clock = &clock_;
    // A run that is not live does not grow: do not wait for missing files.
    if (!options_.is_live) options.end_delay = std::chrono::nanoseconds(0);
    if (options_.first_step > 0) options.first_step = options_.first_step;
    options.storage_limit = storage_limit();
    auto opened = Trial::open(location_, options);
    if (!opened && opened.error().code == Error::Code::not_found) {
      missing_ = std::move(opened).error();
      return {};
    }
    if (!opened) return std::move(opened).error();
    own_trial_ = *std::move(opened);
    trial_ = own_trial_.get();
    begin_feed();
    return {};
  }

  Status read_new_steps() {
    if (!trial_) SMD_CHECK_OK(open_trial());
    if (!feed_) return {};
    SMD_CHECK_OK(feed_->advance());
    if (!feed_->take_restart()) return {};
    SMD_CHECK_OK(begin_again());
    return feed_->advance();
  }

  // The training was started again: its rules must not know the steps of the
  // earlier attempt.
  Status begin_again() {
    if (options_.on_message) {
      options_.on_message(fmt::format(
          "the training was started again: attempt {} is judged from its first "
          "step",
          trial_->attempt()));
    }
    if (!options_.make_rules) return {};
    SMD_TRY(Rules rules, options_.make_rules());
    runner_ = RuleRunner(std::move(rules));
    listen();
    SMD_TRY(compared_, ComparedRuns::open(runner_, clock_, storage_limit()));
    steps_ = 0;
    status_->open(*trial_, runner_.verdicts());
    return {};
  }

  void write_reports() {
    for (const RuleReport& report : options_.reports) {
      const bool is_wanted =
          std::ranges::any_of(runner_.verdicts(), [&](const Verdict& verdict) {
            return verdict.rule == report.rule &&
                   verdict.observations_judged > 0;
          });
      if (!is_wanted) continue;
      const auto files = report.make(*trial_, clock_.wall_seconds());
      const auto path = files ? write_report_files(trial_->location(), *files,
                                                   storage_limit())
                              : Result<std::string>(files.error());
      if (!path) {
        result_->report_error = path.error();
      } else if (!path->empty()) {
        result_->reports.push_back(*path);
      }
    }
  }

  const std::string location_;
  RunMonitorOptions options_;
  const Clock& clock_;
  const CaptureRequest request_;
  RuleRunner runner_;
  std::unique_ptr<Trial> own_trial_;
  Trial* trial_ = nullptr;  // null while the run does not exist
  std::optional<RunFeed> feed_;
  ComparedRuns compared_;
  std::unique_ptr<RunStatus> status_;
  std::uint64_t steps_ = 0;
  std::optional<Error> missing_;  // the run does not exist
  std::optional<Error> error_;
  std::optional<MonitorResult> result_;
};

RunMonitor::RunMonitor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<RunMonitor>> RunMonitor::create(
    std::string location, Rules rules, RunMonitorOptions options) {
  auto impl = std::make_unique<Impl>(std::move(location), nullptr,
                                     std::move(rules), std::move(options));
  SMD_CHECK_OK(impl->prepare());
  return std::unique_ptr<RunMonitor>(new RunMonitor(std::move(impl)));
}

Result<std::unique_ptr<RunMonitor>> RunMonitor::create(
    Trial& trial, Rules rules, RunMonitorOptions options) {
  auto impl = std::make_unique<Impl>(trial.location(), &trial, std::move(rules),
                                     std::move(options));
  SMD_CHECK_OK(impl->prepare());
  return std::unique_ptr<RunMonitor>(new RunMonitor(std::move(impl)));
}

RunMonitor::~RunMonitor() = default;

const CaptureRequest& RunMonitor::request() const { return impl_->request(); }
Result<std::uint64_t> RunMonitor::poll() { return impl_->poll(); }
void RunMonitor::skip_to(Step first) { impl_->skip_to(first); }
Trial* RunMonitor::trial() { return impl_->trial(); }
std::span<const Verdict> RunMonitor::verdicts() const {
  return impl_->verdicts();
}
bool RunMonitor::is_judging() const { return impl_->is_judging(); }
MonitorLag RunMonitor::lag() const { return impl_->lag(); }
void RunMonitor::stop() { impl_->stop(); }
const MonitorResult& RunMonitor::finish(std::string_view training_status) {
  return impl_->finish(training_status);
}

Status check_actions(std::span<const ActionRequest> actions) {
  const ActionSettings settings =
      action_settings_from_environment(default_logger());
  for (const ActionRequest& request : actions) {
    SMD_CHECK_OK(make_action(request, settings));
  }
  return {};
}

Result<StopOutcome> stop_writer(Trial* trial, const Clock& clock) {
  const auto writer = trial ? trial->writer() : std::nullopt;
  if (!writer) {
    if (trial && trial->writer_state() != WriterState::running)
      return StopOutcome::was_gone;
    return Error{Error::Code::not_found,
                 "the run names no training process on this machine"};
  }
  StopOptions options;
  options.clock = &clock;
  return stop_training_process(
      {writer->host, writer->process_id, writer->start_ticks}, options);
}

}  // namespace smdebug
