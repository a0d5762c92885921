// smdebug check RUN... --rule ...

#include <algorithm>

#include "smdebug/report/judged_run.h"
#include "smdebug/report/run_feed.h"

#include "commands.h"
#include "judging.h"
#include "opened_run.h"
#include "other_runs.h"
#include "watched_rules.h"

namespace smdebug {
namespace {

JudgedRun judge(const std::string& location,
                std::vector<std::unique_ptr<Rule>> rules, WatchedRules& watched,
                const Console& console, Progress& progress) {
  JudgedRun judged;
  judged.location = location;
  auto trial = open_run(location, console);
  if (!trial) {
    judged.error = std::move(trial).error();
    return judged;
  }
  RuleRunner runner(std::move(rules));
  auto others = OtherRuns::open(runner, console);
  if (!others) {
    judged.error = std::move(others).error();
    return judged;
  }
  RunFeed feed(**trial, runner);
  watched.open(**trial, runner);
  feed.set_on_step([&](const StepId& step) {
    others->follow(step);
    watched.on_step(step);
    progress.say(location + ": step " + std::to_string(step.global));
  });
  if (auto fed = feed.advance(); !fed) judged.error = std::move(fed).error();
  feed.finish();
  if (auto fed = others->finish(); !fed) judged.error = std::move(fed).error();
  judged.actions = watched.finish("Completed");
  judged.steps = feed.steps_fed();
  judged.verdicts.assign(runner.verdicts().begin(), runner.verdicts().end());
  return judged;
}

}  // namespace

int run(const CheckCommand& command, const Console& console) {
  // A run of last year is changed only where something may have to be done.
  WatchedRules watched(console, command.actions.empty()
                                    ? WatchedRules::Files::untouched
                                    : WatchedRules::Files::written);
  if (const Status made = watched.add_actions(command.actions); !made) {
    return console.fail(made.error());
  }
  std::vector<JudgedRun> runs;
  int code = kExitNothingFound;
  Progress progress(console);
  for (const std::string& location : command.runs) {
    auto rules = make_rules(command.rules, location, console);
    if (!rules) return console.fail(rules.error());
    runs.push_back(
        judge(location, *std::move(rules), watched, console, progress));
    const int one = runs.back().error ? kExitError
                                      : exit_code_of(runs.back().verdicts,
                                                     !command.rules.empty());
    // A rule that fired counts more than a run that could not be read.
    code = std::max(code, one);
  }
  progress.clear();
  console.out << (command.json ? judged_runs_json(runs)
                               : judged_runs_text(runs));
  return code;
}

}  // namespace smdebug
