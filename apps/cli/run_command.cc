// smdebug run [--rule ...] [--stop] -- python train.py ...

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "smdebug/report/run_feed.h"
#include "smdebug/report/run_summary.h"
#include "smdebug/report/verdict_page.h"
#include "smdebug/rules/capture_request.h"

#include "commands.h"
#include "interrupt.h"
#include "judging.h"
#include "opened_run.h"
#include "other_runs.h"
#include "run_location.h"
#include "trainer.h"
#include "watched_rules.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(100);

// Judges the run as far as it is there.
class LiveJudge {
 public:
  LiveJudge(std::string location, std::vector<std::unique_ptr<Rule>> rules,
            const Console& console)
      : location_(std::move(location)),
        console_(console),
        runner_(std::move(rules)),
        watched_(console, WatchedRules::Files::written) {
    runner_.set_on_verdict([this](const Verdict& verdict) {
      if (verdict.status != RuleStatus::issues_found) return;
      if (first_fired_.empty()) first_fired_ = verdict.rule;
      asks_to_stop_ |= verdict.stop_training;
      console_.err << "smdebug: " << verdict_text(verdict) << std::flush;
    });
  }

  // Opens the runs that rules compare this one with, before it begins.
  Status open_others() {
    SMD_TRY(others_, OtherRuns::open(runner_, console_));
    return {};
  }

  // Fails as `WatchedRules::add_actions`.
  Status add_actions(std::span<const ActionRequest> requests,
                     std::function<Result<StopOutcome>()> stop_training) {
    return watched_.add_actions(requests, std::move(stop_training));
  }

  void look() {
    if (open()) {
      const auto fed = feed_->advance();
      // The next look tries again; the last one's failure is told in the end.
      problem_ = fed ? "" : fed.error().message;
    }
    // A training may hang before its first step.
    runner_.on_tick(console_.clock.wall_seconds());
    watched_.look();
  }

  // Returns what was done about the verdicts.
  std::vector<ActionResult> finish(const std::string& training_status) {
    look();
    if (feed_) {
      if (!trial_->is_there()) watched_.forget_run();
      feed_->finish();
    } else {
      runner_.on_run_end(0);
    }
    if (const auto fed = others_.finish(); !fed) problem_ = fed.error().message;
    return watched_.finish(training_status);
  }

  std::span<const Verdict> verdicts() const { return runner_.verdicts(); }
  // The rule that fired first; empty: none has.
  const std::string& first_fired() const { return first_fired_; }
  const std::string& problem() const { return problem_; }
  // Whether a rule that has fired since the last call ends the training.
  bool takes_stop_request() { return std::exchange(asks_to_stop_, false); }

 private:
  bool open() {
    if (trial_) return true;
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    options.clock = &console_.clock;
    auto trial = Trial::open(location_, options);
    if (!trial) {
      if (trial.error().code != Error::Code::not_found) {
        problem_ = trial.error().message;
      }
      return false;
    }
    trial_ = *std::move(trial);
    feed_.emplace(*trial_, runner_);
    watched_.open(*trial_, runner_);
    feed_->set_on_step([this](const StepId& step) {
      others_.follow(step);
      watched_.on_step(step);
    });
    return true;
  }

  std::string location_;
  const Console& console_;
  RuleRunner runner_;
  std::unique_ptr<Trial> trial_;
  std::optional<RunFeed> feed_;
  OtherRuns others_;
  WatchedRules watched_;
  std::string first_fired_;
  std::string problem_;
  bool asks_to_stop_ = false;
};

// A trainer that has ended meanwhile is not stopped.
Result<StopOutcome> stop(Trainer& trainer) {
  if (trainer.poll()) return StopOutcome::was_gone;
  return trainer.stop();
}

// Follows the training to its end, and judges it on the way.
Trainer::Ending follow(Trainer& trainer, LiveJudge& judge,
                       const Console& console, RunSummary& summary) {
  InterruptWatch interrupts;
  while (true) {
    if (const auto ending = trainer.poll()) return *ending;
    if (const int signal = interrupts.take()) {
      // The second time, or when it is told to end: in earnest.
      const bool in_earnest = summary.was_interrupted || signal != SIGINT;
      summary.was_interrupted = true;
      if (in_earnest) {
        (void)trainer.stop();
      } else {
        trainer.send(signal);
      }
      continue;
    }
    judge.look();
    if (judge.takes_stop_request()) {
      if (const auto stopped = stop(trainer); !stopped) {
        console.err << "smdebug: " << stopped.error().message << std::endl;
      } else if (*stopped != StopOutcome::was_gone) {
        summary.stopped_by = judge.first_fired();
      }
      continue;
    }
    console.clock.sleep_for(kPollInterval);
  }
}

constexpr const char* kNothingRecorded =
    "nothing was recorded: the program trained no model (of PyTorch, "
    "TensorFlow, Keras, XGBoost or MXNet), or runs in a Python without the "
    "package "
    "'smdebug'";

void add_page(const std::string& location, const Console& console,
              RunSummary& summary) {
  const auto trial = open_run(location, console);
  if (!trial) {
    summary.problem = trial.error().code == Error::Code::not_found
                          ? kNothingRecorded
                          : trial.error().message;
    return;
  }
  auto page = read_run_page(**trial);
  if (!page) {
    summary.problem = page.error().message;
    return;
  }
  if (page->steps == 0 && summary.problem.empty()) {
    summary.problem =
        "no step was recorded: the training ended before the first one was "
        "complete, or nothing that was asked for was there to save";
  }
  summary.page = *std::move(page);
}

int exit_code_of(const RunSummary& summary, bool asked) {
  if (!summary.stopped_by.empty()) return kExitRuleFired;
  if (summary.exit_code != 0) return summary.exit_code;
  if (!summary.page || summary.page->steps == 0) return kExitError;
  return exit_code_of(summary.verdicts, asked);
}

std::vector<ActionRequest> actions_of(const RunCommand& command) {
  std::vector<ActionRequest> actions = command.actions;
  // First: what is told afterwards costs no more of the training.
  const ActionRequest stop = {ActionKind::stop, ""};
  if (command.stop) actions.insert(actions.begin(), stop);
  return actions;
}

// As the cloud would say it.
std::string training_status(const RunSummary& summary) {
  if (!summary.stopped_by.empty() || summary.was_interrupted) return "Stopped";
  return summary.exit_code == 0 && !summary.signal ? "Completed" : "Failed";
}

}  // namespace

int run(const RunCommand& command, const Console& console) {
  auto location = create_run_location(command, console.clock);
  if (!location) return console.fail(location.error());
  auto rules = make_rules(command.rules, *location, console);
  if (!rules) {
    remove_if_empty(*location);
    return console.fail(rules.error());
  }
  CaptureRequest request = capture_request(*rules, *location);
  request.is_optional = command.rules.empty();
  LiveJudge judge(*location, *std::move(rules), console);
  if (auto opened = judge.open_others(); !opened) {
    remove_if_empty(*location);
    return console.fail(opened.error());
  }

  RunSummary summary;
  std::unique_ptr<Trainer> training;
  const auto stop_training = [&]() -> Result<StopOutcome> {
    auto outcome = stop(*training);
    if (outcome && *outcome != StopOutcome::was_gone) {
      summary.stopped_by = judge.first_fired();
    }
    return outcome;
  };
  if (const Status made = judge.add_actions(actions_of(command), stop_training);
      !made) {
    remove_if_empty(*location);
    return console.fail(made.error());
  }

  summary.command = command.trainer;
  summary.has_default_rules = command.rules.empty();
  summary.location = *location;
  const auto started = console.clock.monotonic();
  auto trainer = Trainer::start(
      command.trainer,
      std::string(kCaptureRequestVariable) + "=" + request.json(),
      console.clock);
  if (!trainer) {
    remove_if_empty(*location);
    return console.fail(trainer.error());
  }
  training = *std::move(trainer);
  const auto ending = follow(*training, judge, console, summary);
  training->sweep();
  const std::chrono::duration<double> took =
      console.clock.monotonic() - started;

  summary.seconds = took.count();
  summary.exit_code = ending.exit_code;
  summary.signal = ending.signal;
  summary.was_interrupted |= ending.signal == SIGINT;
  summary.actions = judge.finish(training_status(summary));
  summary.problem = judge.problem();
  summary.verdicts.assign(judge.verdicts().begin(), judge.verdicts().end());
  add_page(*location, console, summary);
  remove_if_empty(*location);
  console.err << run_summary_text(summary) << std::flush;
  if (command.json) console.out << run_summary_json(summary);
  return exit_code_of(summary, !command.rules.empty());
}

}  // namespace smdebug
