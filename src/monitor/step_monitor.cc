#include "smdebug/monitor/step_monitor.h"

#include <algorithm>
#include <utility>

#include "smdebug/actions/status_writer.h"
#include "smdebug/base/try.h"
#include "smdebug/rules/runner.h"
#include "smdebug/store/bounded_storage.h"

#include "monitor/run_feed.h"
#include "monitor/run_status.h"

namespace smdebug {

// The rules of one worker: passes them its steps, and keeps their status beside
// the run once the run exists.
class __attribute__((visibility("hidden"))) StepMonitor::Worker
    : public ForwardingSink {
 public:
  Worker(Rules rules, FindPlace find_place, const StepMonitorOptions& options)
      : ForwardingSink(runner_),
        options_(options),
        clock_(options.clock ? *options.clock : system_clock()),
        find_place_(std::move(find_place)),
        request_(capture_request(rules, "")),
        runner_(std::move(rules)) {
    runner_.set_on_finding(
        [this](const Verdict& found) { findings_.push_back(found); });
  }

  Status open_compared_runs() {
    SMD_TRY(compared_,
            ComparedRuns::open(runner_, clock_, WaitLimit::from_environment()));
    return {};
  }

  void on_step(const StepView& step) override {
    ForwardingSink::on_step(step);
    const bool is_complete = step.phase == StepPhase::complete;
    // Before completion, tensors to compare may still be missing.
    if (is_complete) compared_.follow(step.step);
    progress_.steps_fed += is_complete;
    progress_.last_fed = progress_.last_known = step.step.global;
    if (!std::exchange(has_begun_, true)) begin_status();
    if (status_) status_->update(runner_.verdicts(), progress_);
  }

  void finish() {
    if (std::exchange(is_finished_, true)) return;
    if (const Status read = compared_.finish(runner_); !read) {
      if (options_.on_message) options_.on_message(read.error().message);
    }
    runner_.on_run_end(0);
    if (!status_) return;
    progress_.training_status = "Completed";
    status_->finish(runner_.verdicts(), progress_);
  }

  const CaptureRequest& request() const { return request_; }
  std::span<const Verdict> verdicts() const { return runner_.verdicts(); }
  std::vector<Verdict> take_findings() { return std::exchange(findings_, {}); }

 private:
  void begin_status() {
    const auto place = find_place_ ? find_place_() : std::nullopt;
    if (!place) return;
    auto storage = open_bounded_storage(place->location, status_limit({}));
    if (!storage) return;
    RuleWatchOptions options;
    options.storage = *std::move(storage);
    for (const Verdict& verdict : runner_.verdicts()) {
      options.rules.push_back(verdict.rule);
    }
    options.worker = place->worker;
    options.clock = &clock_;
    options.say =
        options_.on_message ? options_.on_message : [](const std::string&) {};
    status_ = std::make_unique<StatusWriter>(std::move(options));
  }

  const StepMonitorOptions& options_;
  const Clock& clock_;
  const FindPlace find_place_;
  const CaptureRequest request_;
  RuleRunner runner_;
  ComparedRuns compared_;
  bool has_begun_ = false;
  bool is_finished_ = false;
  WatchProgress progress_;
  std::unique_ptr<StatusWriter> status_;  // null: none is kept
  std::vector<Verdict> findings_;
};

namespace {

// Merges the verdicts of one rule about several workers.
Verdict merged(std::span<const Verdict> verdicts) {
  const Verdict* chosen = &verdicts.front();
  for (const RuleStatus status :
       {RuleStatus::error, RuleStatus::issues_found}) {
    const Verdict* first = nullptr;
    for (const Verdict& each : verdicts) {
      if (each.status != status) continue;
      if (!first || each.step.global < first->step.global) first = &each;
    }
    if (first) chosen = first;
  }
  Verdict all = *chosen;
  all.steps_judged = all.observations_found = all.observations_judged = 0;
  for (const Verdict& each : verdicts) {
    all.steps_judged = std::max(all.steps_judged, each.steps_judged);
    all.observations_found += each.observations_found;
    all.observations_judged += each.observations_judged;
  }
  return all;
}

// A training that stalls does not call its rules.
Status check_can_judge(const StepMonitor::Rules& rules) {
  for (const auto& rule : rules) {
    if (!rule->needs().ticks) continue;
    const std::string name(rule->name());
    return Error{Error::Code::invalid_config,
                 name +
                     " cannot judge from within a training; use 'smdebug "
                     "watch RUN --rule " +
                     name + "' beside it"};
  }
  return {};
}

}  // namespace

StepMonitor::StepMonitor(StepMonitorOptions options)
    : options_(std::move(options)) {}

StepMonitor::~StepMonitor() = default;

Result<ObservationSink*> StepMonitor::add_worker(Rules rules,
                                                 FindPlace find_place) {
  SMD_CHECK_OK(check_can_judge(rules));
  auto worker = std::make_unique<Worker>(std::move(rules),
                                         std::move(find_place), options_);
  SMD_CHECK_OK(worker->open_compared_runs());
  return workers_.emplace_back(std::move(worker)).get();
}

Result<ObservationSink*> StepMonitor::add_worker(
    const std::vector<RuleRequest>& rules, FindPlace find_place) {
  SMD_TRY(Rules made, make_builtin_rules(rules));
  return add_worker(std::move(made), std::move(find_place));
}

const CaptureRequest& StepMonitor::request() const {
  return workers_.front()->request();
}

std::vector<Verdict> StepMonitor::take_findings() {
  std::vector<Verdict> findings;
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    for (Verdict& found : workers_[worker]->take_findings()) {
      auto known = std::ranges::find_if(reported_, [&](const Reported& one) {
        return one.rule == found.rule && one.parameters == found.parameters;
      });
      if (known == reported_.end()) {
        known = reported_.insert(known, {found.rule, found.parameters, -1, 0});
      }
      const Step step = found.step.global;
      if (known->step == step && known->worker != worker) continue;
      known->step = step;
      known->worker = worker;
      findings.push_back(std::move(found));
    }
  }
  return findings;
}

std::vector<Verdict> StepMonitor::verdicts() const {
  std::vector<Verdict> all;
  if (workers_.empty()) return all;
  for (std::size_t i = 0; i < workers_.front()->verdicts().size(); ++i) {
    std::vector<Verdict> of_workers;
    for (const auto& worker : workers_) {
      of_workers.push_back(worker->verdicts()[i]);
    }
    all.push_back(merged(of_workers));
  }
  return all;
}

void StepMonitor::finish() {
  for (const auto& worker : workers_) worker->finish();
}

}  // namespace smdebug
