// smdebug watch RUN --rule ...

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "smdebug/actions/rule_watch.h"
#include "smdebug/base/try.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/report/run_summary.h"

#include "commands.h"
#include "find_runs.h"
#include "interrupt.h"
#include "judging.h"
#include "live_status.h"
#include "run_location.h"

namespace smdebug {
namespace {

// A published step must be seen within 100 ms, and polling must take less than
// 1 % of a core (T23 and T24 of docs/performance.md).
constexpr std::chrono::milliseconds kWatchInterval(50);

// Why watching ended.
enum class WatchEnd {
  stalled,
  run_ended,
  writer_exited,
  run_removed,
  interrupted,
  timed_out
};

// The status of the training for the status files, in the cloud's terms.
std::string training_status(WatchEnd end) {
  switch (end) {
    case WatchEnd::run_ended:
      return "Completed";
    case WatchEnd::writer_exited:
      return "Failed";
    default:
      return "InProgress";
  }
}

std::string ending_text(WatchEnd end) {
  switch (end) {
    case WatchEnd::run_ended:
      return "ended";
    case WatchEnd::writer_exited:
      return "killed or crashed";
    case WatchEnd::run_removed:
      return "unknown: the files of the run were removed";
    case WatchEnd::stalled:
      return "hangs";
    case WatchEnd::timed_out:
      return "unknown: no new step and no end marker";
    case WatchEnd::interrupted:
      break;
  }
  return "continues";
}

// Measures the time since the last new step against the user's timeout.
class IdleTimeout {
 public:
  IdleTimeout(const Console& console, std::optional<double> seconds)
      : console_(console), seconds_(seconds) {
    renew();
  }

  void renew() { since_ = console_.clock.monotonic(); }

  bool is_over() const {
    const std::chrono::duration<double> waited =
        console_.clock.monotonic() - since_;
    return seconds_ && waited.count() >= *seconds_;
  }

 private:
  const Console& console_;
  std::optional<double> seconds_;
  std::chrono::nanoseconds since_;
};

class Watch {
 public:
  Watch(const WatchCommand& command, const Console& console)
      : command_(command),
        console_(console),
        live_(console, command.detail, Progress::Style::own_terminal),
        timeout_(console, command.timeout_seconds),
        context_(command.run + ": ") {}

  // Fails as `make_rules` and `RunMonitor::create`.
  Status prepare() {
    SMD_TRY(auto rules, make_rules(command_.rules, command_.run, console_));
    RunMonitorOptions options = monitor_options(console_);
    options.status_files = RunMonitorOptions::StatusFiles::by_caller;
    options.actions = command_.actions;
    if (command_.rules.empty()) options.limits = default_rule_limits();
    options.is_live = true;
    look_at_run(options);
    options.make_rules = [this] {
      return make_rules(command_.rules, command_.run, console_);
    };
    options.on_verdict = [this](const Verdict& verdict) {
      live_.print(verdict);
    };
    options.on_step = [this](const StepId& step) {
      live_.note_step(step);
      live_.show(*monitor_, context_);
    };
    SMD_TRY(monitor_, RunMonitor::create(command_.run, std::move(rules),
                                         std::move(options)));
    return {};
  }

  int judge() {
    if (why_missing_ && !may_become_run())
      return console_.fail({Error::Code::not_found, *why_missing_});
    if (why_missing_)
      live_.note("waiting for a run: " + *why_missing_ +
                 "; Ctrl-C ends the wait");
    live_.note(preset_note(command_.rules));
    const auto end = follow();
    if (!end) return console_.fail(end.error());
    if (!monitor_->trial()) return fail_without_run(*end);
    print_reason(*end);
    // The run continues or was removed, so the rules cannot complete.
    if (*end == WatchEnd::interrupted || *end == WatchEnd::run_removed) {
      monitor_->stop();
    }
    const MonitorResult& result = monitor_->finish(training_status(*end));
    print_reports(result, console_);
    if (command_.json) {
      console_.out << monitor_results_json({&result, 1});
    } else if (!result.error) {
      console_.out << summary_text(result, *end);
    }
    if (result.error) return console_.fail(*result.error);
    return exit_code_of(result, *end);
  }

 private:
  Result<WatchEnd> follow() {
    while (true) {
      // Get the writer's state before polling, so that everything written
      // before its end is judged.
      const auto writer = monitor_->trial() ? monitor_->trial()->writer_state()
                                            : WriterState::running;
      SMD_TRY(const std::uint64_t steps, monitor_->poll());
      if (steps > 0) timeout_.renew();
      if (const auto end = end_of(writer, steps)) return *end;
      if (monitor_->trial()) {
        live_.show(*monitor_, context_);
      } else {
        live_.show_waiting("waiting for run '" + command_.run + "'");
      }
      console_.clock.sleep_for(kWatchInterval);
    }
  }

  std::optional<WatchEnd> end_of(WriterState writer, std::uint64_t steps) {
    Trial* const trial = monitor_->trial();
    if (!monitor_->is_judging() && has_stalled()) return WatchEnd::stalled;
    if (writer == WriterState::ended) return WatchEnd::run_ended;
    if (writer == WriterState::exited) return WatchEnd::writer_exited;
    if (trial && steps == 0 && !trial->exists()) {
      return WatchEnd::run_removed;
    }
    if (interrupts_.take() != 0 || is_told_to_stop()) {
      return WatchEnd::interrupted;
    }
    if (timeout_.is_over()) return WatchEnd::timed_out;
    return std::nullopt;
  }

  // If the storage does not respond, the first poll reports that.
  void look_at_run(RunMonitorOptions& options) {
    const auto trial =
        open_run(command_.run, console_,
                 WaitLimit::from_environment(&InterruptWatch::is_pending));
    if (trial) {
      options.was_over = (*trial)->writer_state() != WriterState::running;
    } else if (trial.error().code == Error::Code::not_found) {
      why_missing_ = trial.error().message;
    }
  }

  // A file never does, nor does a folder with files that holds runs or lies
  // within one.
  bool may_become_run() const {
    const std::filesystem::path path = command_.run;
    std::error_code failure;
    if (std::filesystem::is_regular_file(path, failure)) return false;
    if (std::filesystem::is_empty(path, failure) || failure) return true;
    const auto runs = find_runs(command_.run);
    return (!runs || runs->runs.empty()) &&
           !is_run_folder(parent_of(command_.run));
  }

  // A training that hangs may never end.
  bool has_stalled() const {
    return std::ranges::any_of(
        monitor_->verdicts(), [](const Verdict& verdict) {
          return verdict.rule == "StalledTrainingRule" &&
                 verdict.status == RuleStatus::issues_found;
        });
  }

  // The run never appeared, but a rule may have fired, such as
  // StalledTrainingRule.
  int fail_without_run(WatchEnd end) {
    const MonitorResult& result = monitor_->finish("InProgress");
    const int code = exit_code(result.verdicts, true);
    if (code == kExitRuleFired) return code;
    if (is_unexpected(*result.error)) return console_.fail(*result.error);
    if (end == WatchEnd::interrupted) {
      return console_.fail(
          {Error::Code::not_found,
           "interrupted before a run appeared at '" + command_.run + "'"});
    }
    if (end != WatchEnd::timed_out) return console_.fail(*result.error);
    return console_.fail(
        {Error::Code::not_found,
         fmt::format("gave up: no run appeared at '{}' in {:g} s; check the "
                     "path, or wait longer with --timeout",
                     command_.run, *command_.timeout_seconds)});
  }

  // Whether it is not only that no run appeared.
  static bool is_unexpected(const Error& error) {
    return error.code != Error::Code::not_found;
  }

  // Prints why watching ended, unless that is obvious.
  void print_reason(WatchEnd end) {
    live_.clear();
    switch (end) {
      case WatchEnd::timed_out:
        console_.err << fmt::format(
                            "smdebug: gave up: no new step for {:g} s and no "
                            "end marker",
                            *command_.timeout_seconds)
                     << std::endl;
        return;
      case WatchEnd::writer_exited:
        console_.err << "smdebug: the process that wrote run '" << command_.run
                     << "' exited without an end marker (killed or crashed); "
                        "results cover only what it had written"
                     << std::endl;
        return;
      case WatchEnd::run_removed:
        console_.err << "smdebug: the files of run '" << command_.run
                     << "' were removed while it was watched; results cover "
                        "only what was read before"
                     << std::endl;
        return;
      case WatchEnd::stalled:
      case WatchEnd::run_ended:
      case WatchEnd::interrupted:
        return;
    }
  }

  std::string summary_text(const MonitorResult& result, WatchEnd end) const {
    RunSummary summary = summarize(result, monitor_->trial());
    summary.detail = command_.detail;
    summary.has_default_rules = command_.rules.empty();
    summary.ending = ending_text(end);
    return run_summary_text(summary);
  }

  int exit_code_of(const MonitorResult& result, WatchEnd end) const {
    const int code = exit_code(result, !command_.rules.empty());
    if (end == WatchEnd::timed_out && code != kExitRuleFired) return kExitError;
    const bool has_lost_the_run =
        end == WatchEnd::writer_exited || end == WatchEnd::run_removed;
    return has_lost_the_run && code == kExitNothingFound ? kExitError : code;
  }

  const WatchCommand& command_;
  const Console& console_;
  LiveOutput live_;
  IdleTimeout timeout_;
  InterruptWatch interrupts_;
  const std::string context_;               // precedes each status
  std::optional<std::string> why_missing_;  // none: the run existed at first
  std::unique_ptr<RunMonitor> monitor_;
};

}  // namespace

int run(const WatchCommand& command, const Console& console) {
  Watch watch(command, console);
  if (const Status prepared = watch.prepare(); !prepared) {
    return console.fail(prepared.error());
  }
  return watch.judge();
}

}  // namespace smdebug
