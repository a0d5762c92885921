// smdebug watch RUN --rule ...

#include <chrono>

#include "smdebug/report/judged_run.h"
#include "smdebug/report/run_feed.h"
#include "smdebug/report/verdict_page.h"

#include "commands.h"
#include "interrupt.h"
#include "judging.h"
#include "other_runs.h"
#include "watched_rules.h"

namespace smdebug {
namespace {

// A published step is to be seen within 100 ms, and looking is to take less
// than 1 % of a core (T23 and T24 of docs/performance.md).
constexpr std::chrono::milliseconds kPollInterval(50);

// Why watching ended.
enum class WatchEnd {
  all_judged,
  run_ended,
  writer_gone,
  run_gone,
  interrupted,
  timed_out
};

// What the status files say of the training, as the cloud would.
std::string training_status(WatchEnd end) {
  switch (end) {
    case WatchEnd::run_ended:
      return "Completed";
    case WatchEnd::writer_gone:
      return "Failed";
    default:
      return "InProgress";
  }
}

// Says whether nothing new has come for as long as the user wants to wait.
class Patience {
 public:
  Patience(const Console& console, std::optional<double> seconds)
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
        progress_(console),
        patience_(console, command.timeout_seconds),
        watched_(console, WatchedRules::Files::written) {}

  // Fails as `make_action`.
  Status add_actions() { return watched_.add_actions(command_.actions); }

  int judge(RuleRunner& runner) {
    runner.set_on_verdict([&](const Verdict& verdict) {
      if (verdict.status != RuleStatus::issues_found) return;
      progress_.clear();
      console_.err << verdict_text(verdict) << std::flush;
    });
    auto others = OtherRuns::open(runner, console_);
    if (!others) return console_.fail(others.error());
    auto trial = wait_for_run(runner);
    if (!trial) {
      const int code = exit_code_of(runner.verdicts(), true);
      return code == kExitRuleFired ? code : console_.fail(trial.error());
    }
    RunFeed feed(**trial, runner);
    watched_.open(**trial, runner);
    feed.set_on_step([&](const StepId& step) {
      others->follow(step);
      watched_.on_step(step);
      progress_.say(command_.run + ": step " + std::to_string(step.global) +
                    behind());
    });
    const auto end = follow(**trial, runner, feed);
    if (!end) return console_.fail(end.error());
    say_why(*end);
    stop_watching(*end, runner);
    feed.finish();
    const Status others_read = others->finish();
    report(runner, feed, watched_.finish(training_status(*end)));
    if (!others_read) return console_.fail(others_read.error());
    return exit_code(*end, runner);
  }

 private:
  // The run may not be there yet.
  Result<std::unique_ptr<Trial>> wait_for_run(RuleRunner& runner) {
    while (true) {
      TrialOptions options;
      options.timeout = std::chrono::nanoseconds(0);
      options.clock = &console_.clock;
      auto trial = Trial::open(command_.run, options);
      const bool is_there =
          trial || trial.error().code != Error::Code::not_found;
      if (is_there || interrupts_.take() != 0 || patience_.is_over()) {
        return trial;
      }
      // A training may hang before its first step.
      runner.on_tick(console_.clock.wall_seconds());
      if (!runner.is_judging()) return trial;
      progress_.say("waiting for run '" + command_.run + "'");
      console_.clock.sleep_for(kPollInterval);
    }
  }

  Result<WatchEnd> follow(Trial& trial, RuleRunner& runner, RunFeed& feed) {
    while (true) {
      // Asked first, so that what came before the end is fed after it.
      const WriterState writer = trial.writer_state();
      SMD_TRY(const std::size_t fed, feed.advance());
      if (fed > 0) patience_.renew();
      runner.on_tick(console_.clock.wall_seconds());
      watched_.look();
      if (!runner.is_judging()) return WatchEnd::all_judged;
      if (writer == WriterState::ended) return WatchEnd::run_ended;
      if (writer == WriterState::gone) return WatchEnd::writer_gone;
      if (fed == 0 && !trial.is_there()) return WatchEnd::run_gone;
      if (interrupts_.take() != 0 || is_told_to_stop()) {
        return WatchEnd::interrupted;
      }
      if (patience_.is_over()) return WatchEnd::timed_out;
      progress_.say(command_.run + ": waiting for step after " +
                    std::to_string(trial.last_complete_step()) + behind());
      console_.clock.sleep_for(kPollInterval);
    }
  }

  // ", 3 steps (1.2 s) behind the training", or nothing.
  std::string behind() const {
    const std::string lag = watched_.lag_text();
    return lag.empty() ? lag : ", " + lag;
  }

  // Says why nothing more is watched, unless that is as it should be.
  void say_why(WatchEnd end) {
    progress_.clear();
    switch (end) {
      case WatchEnd::timed_out:
        console_.err << "smdebug: no new step for " << *command_.timeout_seconds
                     << " s and no end marker; given up" << std::endl;
        return;
      case WatchEnd::writer_gone:
        console_.err << "smdebug: the process that wrote run '" << command_.run
                     << "' is gone and left no end marker: it was killed or "
                        "crashed; judged is what it wrote until then"
                     << std::endl;
        return;
      case WatchEnd::run_gone:
        console_.err << "smdebug: run '" << command_.run
                     << "' is gone: its files were removed while it was "
                        "watched; judged is what was there until then"
                     << std::endl;
        return;
      case WatchEnd::all_judged:
      case WatchEnd::run_ended:
      case WatchEnd::interrupted:
        return;
    }
  }

  // Where the run goes on, or is gone, its rules have not come to their end.
  void stop_watching(WatchEnd end, RuleRunner& runner) {
    if (end == WatchEnd::run_gone) watched_.forget_run();
    if (end != WatchEnd::interrupted && end != WatchEnd::run_gone) return;
    watched_.say_stopping();
    runner.stop();
  }

  int exit_code(WatchEnd end, const RuleRunner& runner) const {
    if (end == WatchEnd::timed_out) return kExitError;
    const int code = exit_code_of(runner.verdicts(), !command_.rules.empty());
    const bool has_lost_the_run =
        end == WatchEnd::writer_gone || end == WatchEnd::run_gone;
    return has_lost_the_run && code == kExitNothingFound ? kExitError : code;
  }

  void report(const RuleRunner& runner, const RunFeed& feed,
              std::vector<ActionResult> actions) {
    progress_.clear();
    JudgedRun judged;
    judged.location = command_.run;
    judged.steps = feed.steps_fed();
    judged.actions = std::move(actions);
    judged.verdicts.assign(runner.verdicts().begin(), runner.verdicts().end());
    const std::span<const JudgedRun> one(&judged, 1);
    console_.out << (command_.json ? judged_runs_json(one)
                                   : judged_runs_text(one));
  }

  const WatchCommand& command_;
  const Console& console_;
  Progress progress_;
  Patience patience_;
  InterruptWatch interrupts_;
  WatchedRules watched_;
};

}  // namespace

int run(const WatchCommand& command, const Console& console) {
  auto rules = make_rules(command.rules, command.run, console);
  if (!rules) return console.fail(rules.error());
  RuleRunner runner(*std::move(rules));
  Watch watch(command, console);
  if (const Status made = watch.add_actions(); !made) {
    return console.fail(made.error());
  }
  return watch.judge(runner);
}

}  // namespace smdebug
