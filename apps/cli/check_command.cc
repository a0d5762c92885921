// smdebug check RUN... --rule ...

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <sstream>

#include "smdebug/base/parallel.h"
#include "smdebug/report/judged_run.h"
#include "smdebug/report/run_feed.h"

#include "commands.h"
#include "judging.h"
#include "opened_run.h"
#include "other_runs.h"
#include "watched_rules.h"

namespace smdebug {
namespace {

// The line that tells how far several runs have come.
class SharedProgress {
 public:
  explicit SharedProgress(const Console& console) : progress_(console) {}

  void say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    progress_.say(text);
  }

  void clear() { progress_.clear(); }

 private:
  std::mutex mutex_;
  Progress progress_;
};

// One run of the command line: it is judged by one thread, and what it says on
// the way is kept until it is its turn.
class CheckedRun {
 public:
  CheckedRun(const CheckCommand& command, std::string location,
             const Console& console)
      : console_{said_, said_, console.clock, console.hooks, false},
        // A run of last year is changed only where something may have to be
        // done.
        watched_(console_, command.actions.empty()
                               ? WatchedRules::Files::untouched
                               : WatchedRules::Files::written) {
    judged_.location = std::move(location);
  }
  CheckedRun(const CheckedRun&) = delete;

  // Fails as `make_rules` and `make_action`.
  Status prepare(const CheckCommand& command) {
    SMD_CHECK_OK(watched_.add_actions(command.actions));
    SMD_TRY(rules_, make_rules(command.rules, judged_.location, console_));
    return {};
  }

  // Never fails: what goes wrong is the run's own.
  void judge(SharedProgress& progress) {
    if (Status read = try_judge(progress); !read) {
      judged_.error = std::move(read).error();
    }
  }

  const JudgedRun& judged() const { return judged_; }
  std::string said() const { return said_.str(); }

 private:
  Status try_judge(SharedProgress& progress) {
    SMD_TRY(const auto trial, open_run(judged_.location, console_));
    RuleRunner runner(std::move(rules_));
    SMD_TRY(OtherRuns others, OtherRuns::open(runner, console_));
    RunFeed feed(*trial, runner);
    watched_.open(*trial, runner);
    feed.set_on_step([&](const StepId& step) {
      others.follow(step);
      watched_.on_step(step);
      progress.say(judged_.location + ": step " + std::to_string(step.global));
    });
    const auto fed = feed.advance();
    feed.finish();
    const Status others_fed = others.finish();
    judged_.actions = watched_.finish("Completed");
    judged_.steps = feed.steps_fed();
    judged_.verdicts.assign(runner.verdicts().begin(), runner.verdicts().end());
    if (!fed) return fed.error();
    return others_fed;
  }

  std::ostringstream said_;
  const Console console_;
  WatchedRules watched_;
  std::vector<std::unique_ptr<Rule>> rules_;
  JudgedRun judged_;
};

using CheckedRuns = std::vector<std::unique_ptr<CheckedRun>>;

// Each thread takes the next run that nobody has taken: runs differ in length.
void judge_all(const CheckedRuns& runs, const Console& console) {
  SharedProgress progress(console);
  std::atomic<std::size_t> next = 0;
  parallel_for(runs.size(), 1, [&](std::size_t, std::size_t) {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      runs[i]->judge(progress);
    }
  });
  progress.clear();
}

}  // namespace

int run(const CheckCommand& command, const Console& console) {
  CheckedRuns runs;
  for (const std::string& location : command.runs) {
    runs.push_back(std::make_unique<CheckedRun>(command, location, console));
    if (const Status made = runs.back()->prepare(command); !made) {
      return console.fail(made.error());
    }
  }
  judge_all(runs, console);
  std::vector<JudgedRun> judged;
  int code = kExitNothingFound;
  for (const auto& one : runs) {
    console.err << one->said() << std::flush;
    judged.push_back(one->judged());
    // A rule that fired counts more than a run that could not be read.
    code = std::max(code, judged.back().error
                              ? kExitError
                              : exit_code_of(judged.back().verdicts,
                                             !command.rules.empty()));
  }
  console.out << (command.json ? judged_runs_json(judged)
                               : judged_runs_text(judged));
  return code;
}

}  // namespace smdebug
