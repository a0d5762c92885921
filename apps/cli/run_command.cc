// smdebug run [--rule ...] [--stop] -- python train.py ...

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/report/run_summary.h"
#include "smdebug/report/verdict_groups.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/capture_request.h"

#include "commands.h"
#include "find_runs.h"
#include "interrupt.h"
#include "judging.h"
#include "live_status.h"
#include "nothing_recorded.h"
#include "run_location.h"
#include "trainer.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(100);

std::vector<ActionRequest> actions_of(const RunCommand& command) {
  std::vector<ActionRequest> actions = command.actions;
  // `stop` comes first, so that the training does not continue during the other
  // actions.
  const ActionRequest stop = {ActionKind::stop, ""};
  if (command.stop) actions.insert(actions.begin(), stop);
  return actions;
}

// The option of smdebug that an argument of the script is, with its value if
// that is no secret; empty for what may be an option of the script itself.
std::string option_of_smdebug(const std::string& word,
                              const std::string& next) {
  if (word == "--rule" && find_builtin_rule(next)) return word + " " + next;
  if (word == "--action" && parse_action(next).ok()) return word;
  // The script's own option may have a value.
  const bool has_value = !next.empty() && !next.starts_with('-');
  return word == "--stop" && !has_value ? word : "";
}

// A note about an option of smdebug among the arguments of the script; empty if
// there is none.
std::string misplaced_option_note(const std::vector<std::string>& trainer) {
  for (std::size_t i = 1; i < trainer.size(); ++i) {
    const std::string option = option_of_smdebug(
        trainer[i], i + 1 < trainer.size() ? trainer[i + 1] : "");
    if (option.empty()) continue;
    return "'" + option +
           "' follows '--', so the script gets it; options of smdebug come "
           "before '--'";
  }
  return "";
}

bool is_unavailable(const std::optional<Error>& error) {
  return error && error->code == Error::Code::unavailable;
}

// A training that smdebug starts, and judges while it runs.
class LaunchedRun {
 public:
  LaunchedRun(const RunCommand& command, const Console& console,
              std::string location)
      : command_(command),
        console_(console),
        live_(console, command.detail, Progress::Style::lines) {
    summary_.detail = command.detail;
    summary_.command = command.trainer;
    summary_.has_default_rules = command.rules.empty();
    summary_.location = first_location_ = std::move(location);
  }

  // Makes the rules and starts the training. Fails as `make_rules`,
  // `RunMonitor::create` and `Trainer::start`.
  Status start() {
    SMD_TRY(auto rules,
            make_rules(command_.rules, summary_.location, console_));
    SMD_TRY(monitor_,
            RunMonitor::create(summary_.location, std::move(rules), options()));
    CaptureRequest request = monitor_->request();
    request.is_optional = command_.rules.empty();
    next_location_ = request.next_out_dir = summary_.location + "-model-";
    started_ = console_.clock.monotonic();
    SMD_TRY(trainer_, Trainer::start(command_.trainer,
                                     std::string(kCaptureRequestVariable) +
                                         "=" + request.json(),
                                     console_.clock));
    live_.note(start_text(summary_.location, monitor_->verdicts()));
    live_.note(preset_note(command_.rules));
    live_.note(misplaced_option_note(command_.trainer));
    return {};
  }

  // Judges the training until it ends.
  void follow() {
    InterruptWatch interrupts;
    while (true) {
      if (const auto ending = trainer_->poll()) return note_end(*ending);
      if (const int signal = interrupts.take()) {
        interrupt(signal);
        continue;
      }
      // The next poll tries again; the last failure is in the result.
      (void)monitor_->poll();
      (void)follow_next_model();
      live_.show(*monitor_, "");
      console_.clock.sleep_for(kPollInterval);
    }
  }

  // Returns the exit code.
  int finish() {
    do {
      (void)monitor_->poll();
    } while (follow_next_model());
    note_result(training_status());
    const MonitorResult& result = summarize_models();
    if (result.error) summary_.problem = result.error->message;
    // A training may have ended because its storage does not respond.
    if (!is_unavailable(result.error) || responds(summary_.location)) {
      add_page();
    }
    summary_.lines_before = live_.lines();
    console_.err << run_summary_text(summary_) << std::flush;
    if (command_.json) console_.out << run_summary_json(summary_);
    return exit_code_of_summary();
  }

 private:
  // A script that trains one model after the other records each in a run of its
  // own. If the current run has ended and the next one exists, judges that one.
  bool follow_next_model() {
    Trial* trial = monitor_->trial();
    if (!trial || !trial->has_ended()) return false;
    const std::string next =
        next_location_ + std::to_string(results_.size() + 2);
    if (!is_run_folder(next)) return false;
    auto rules = make_rules(command_.rules, next, console_);
    if (!rules) return false;
    auto monitor = RunMonitor::create(next, *std::move(rules), options());
    if (!monitor) return false;
    note_result("Completed");
    monitor_ = *std::move(monitor);
    live_.begin_run();
    live_.note(fmt::format("the next model is recorded to '{}'", next));
    return true;
  }

  // Ends the judging of the current run.
  void note_result(std::string_view training_status) {
    results_.push_back(monitor_->finish(training_status));
    print_reports(results_.back(), console_);
  }

  // Returns the result that the summary is about: the first with a finding, or
  // else the last.
  const MonitorResult& summarize_models() {
    const auto has_finding = [this](const MonitorResult& result) {
      return exit_code(result.verdicts, !command_.rules.empty()) ==
             kExitRuleFired;
    };
    auto shown = std::ranges::find_if(results_, has_finding);
    if (shown == results_.end()) --shown;
    for (const MonitorResult& result : results_) {
      summary_.actions.insert(summary_.actions.end(), result.actions.begin(),
                              result.actions.end());
      if (&result == &*shown) continue;
      summary_.other_models.push_back(
          {result.location,
           outcome_text(result.verdicts, command_.rules.empty())});
    }
    summary_.location = shown->location;
    summary_.verdicts = shown->verdicts;
    return *shown;
  }

  RunMonitorOptions options() {
    RunMonitorOptions options = monitor_options(console_);
    options.status_files = RunMonitorOptions::StatusFiles::by_caller;
    options.actions = actions_of(command_);
    if (command_.rules.empty()) options.limits = default_rule_limits();
    options.stop_training = [this] { return stop_training(); };
    options.is_live = true;
    options.on_verdict = [this](const Verdict& verdict) {
      const bool has_fired = verdict.status == RuleStatus::issues_found;
      if (has_fired) last_fired_ = verdict.rule;
      // After the training, the summary follows at once.
      if (has_fired || !has_ended_) live_.print(verdict);
    };
    options.on_step = [this](const StepId& step) { live_.note_step(step); };
    return options;
  }

  // Ends the training for every rule and action that requests it. Does nothing
  // if the training has already ended.
  Result<StopOutcome> stop_training() {
    if (trainer_->poll()) return StopOutcome::was_gone;
    auto outcome = trainer_->stop();
    if (outcome && *outcome != StopOutcome::was_gone) {
      summary_.stopped_by = last_fired_;
    }
    return outcome;
  }

  void interrupt(int signal) {
    // Passes the first Ctrl-C on to the training. A second one, SIGTERM and
    // SIGHUP end it.
    const bool ends_it = summary_.was_interrupted || signal != SIGINT;
    summary_.was_interrupted = true;
    if (ends_it) {
      (void)trainer_->stop();
    } else {
      trainer_->send(signal);
    }
  }

  void note_end(const Trainer::Ending& ending) {
    has_ended_ = true;
    trainer_->sweep();
    const std::chrono::duration<double> took =
        console_.clock.monotonic() - started_;
    summary_.seconds = took.count();
    summary_.exit_code = ending.exit_code;
    summary_.signal = ending.signal;
    summary_.was_interrupted |= ending.signal == SIGINT;
  }

  // Returns the status in the cloud's terms.
  std::string training_status() const {
    if (!summary_.stopped_by.empty() || summary_.was_interrupted) {
      return "Stopped";
    }
    return summary_.exit_code == 0 && !summary_.signal ? "Completed" : "Failed";
  }

  void add_page() {
    const std::string reason = take_reason(first_location_);
    const auto trial =
        open_run(summary_.location, console_, WaitLimit::from_environment());
    if (!trial) {
      summary_.problem =
          trial.error().code == Error::Code::not_found
              ? nothing_recorded(summary_, reason, console_.clock)
              : trial.error().message;
      return;
    }
    auto overview = read_run_overview(**trial);
    if (!overview) {
      summary_.problem = overview.error().message;
      return;
    }
    if (summary_.problem.empty()) {
      summary_.problem = recording_problem(*overview);
    }
    summary_.overview = *std::move(overview);
  }

  int exit_code_of_summary() const {
    if (!summary_.stopped_by.empty()) return kExitRuleFired;
    if (summary_.exit_code != 0) return summary_.exit_code;
    if (!summary_.overview || summary_.overview->steps == 0) return kExitError;
    return exit_code(summary_.verdicts, !command_.rules.empty());
  }

  const RunCommand& command_;
  const Console& console_;
  RunSummary summary_;
  LiveOutput live_;
  std::string last_fired_;  // the rule whose actions are performed
  bool has_ended_ = false;  // the training
  std::chrono::nanoseconds started_{0};
  std::unique_ptr<Trainer> trainer_;
  std::string first_location_;          // of the first model
  std::string next_location_;           // of the next model, without its number
  std::vector<MonitorResult> results_;  // of the models before the current one
  std::unique_ptr<RunMonitor> monitor_;  // its actions use what is above
};

}  // namespace

int run(const RunCommand& command, const Console& console) {
  // If the reader of a pipe ends, such as `head`, the training still does not.
  std::signal(SIGPIPE, SIG_IGN);
  const auto location = create_run_location(command, console.clock);
  if (!location) return console.fail(location.error());
  LaunchedRun launched(command, console, location->path);
  const Status started = launched.start();
  int code = kExitError;
  if (started) {
    launched.follow();
    code = launched.finish();
  } else {
    code = console.fail(started.error());
  }
  remove_if_empty(location->path);
  if (command.out.empty()) remove_if_empty(parent_of(location->path));
  return code;
}

}  // namespace smdebug
