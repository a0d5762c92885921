// smdebug check RUN... --rule ...

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <sstream>

#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/rules/builtin_rules.h"

#include "commands.h"
#include "judging.h"

namespace smdebug {
namespace {

// One progress line for several runs.
class SharedProgress {
 public:
  SharedProgress(const Console& console, Detail detail)
      : progress_(console, detail) {}

  void say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    progress_.say(text);
  }

  void clear() { progress_.clear(); }

 private:
  std::mutex mutex_;
  Progress progress_;
};

// One run of the command line. One thread judges it; its messages are kept
// until those of earlier runs are printed.
class CheckedRun {
 public:
  CheckedRun(const CheckCommand& command, std::string location,
             const Console& console)
      : command_(command),
        console_{messages_, messages_, console.clock, console.hooks, false} {
    result_.location = std::move(location);
  }
  CheckedRun(const CheckedRun&) = delete;

  // Fails as `make_rules`.
  Status make() {
    SMD_TRY(rules_, make_rules(command_.rules, result_.location, console_));
    return {};
  }

  // Never fails: an error becomes part of the run's result.
  void judge(SharedProgress& progress) {
    auto judged = try_judge(progress);
    if (judged) {
      result_ = *std::move(judged);
    } else {
      result_.error = std::move(judged).error();
    }
  }

  const MonitorResult& result() const { return result_; }
  std::string messages() const { return messages_.str(); }

 private:
  Result<MonitorResult> try_judge(SharedProgress& progress) {
    RunMonitorOptions options = monitor_options(console_);
    options.actions = command_.actions;
    if (command_.rules.empty()) options.limits = default_rule_limits();
    // Actions need records beside the run; otherwise the run is not modified.
    if (!command_.actions.empty()) {
      options.status_files = RunMonitorOptions::StatusFiles::by_caller;
    }
    options.on_step = [&](const StepId& step) {
      progress.say(result_.location + ": step " + std::to_string(step.global));
    };
    SMD_TRY(const auto monitor,
            RunMonitor::create(result_.location, std::move(rules_),
                               std::move(options)));
    (void)monitor->poll();  // a failure is in the result
    MonitorResult result = monitor->finish("Completed");
    print_reports(result, console_);
    // Of a run that does not exist, no rule says anything.
    if (!monitor->trial()) result.verdicts.clear();
    return result;
  }

  const CheckCommand& command_;
  std::ostringstream messages_;
  const Console console_;
  std::vector<std::unique_ptr<Rule>> rules_;
  MonitorResult result_;
};

using CheckedRuns = std::vector<std::unique_ptr<CheckedRun>>;

// Each thread takes the next run: runs differ in length.
void judge_all(const CheckedRuns& runs, const Console& console, Detail detail) {
  SharedProgress progress(console, detail);
  std::atomic<std::size_t> next = 0;
  parallel_for(runs.size(), 1, [&](std::size_t, std::size_t) {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      runs[i]->judge(progress);
    }
  });
  progress.clear();
}

// Whether the user forgot '--rule' before it.
bool is_name_of_rule(const std::string& location) {
  std::error_code ignored;
  return find_builtin_rule(location) &&
         !std::filesystem::exists(location, ignored);
}

}  // namespace

int run(const CheckCommand& command, const Console& console) {
  if (const Status known = check_actions(command.actions); !known) {
    return console.fail(known.error());
  }
  CheckedRuns runs;
  for (const std::string& location : command.runs) {
    if (is_name_of_rule(location)) {
      return console.fail({Error::Code::invalid_argument,
                           "no run at '" + location +
                               "', which is the name of a rule: put --rule "
                               "before it"});
    }
    runs.push_back(std::make_unique<CheckedRun>(command, location, console));
    if (const Status made = runs.back()->make(); !made) {
      return console.fail(made.error());
    }
  }
  judge_all(runs, console, command.detail);
  std::vector<MonitorResult> results;
  int code = kExitNothingFound;
  for (const auto& one : runs) {
    console.err << one->messages() << std::flush;
    results.push_back(one->result());
    // A rule that fired counts more than a run that could not be read.
    code = std::max(code, exit_code(results.back(), !command.rules.empty()));
  }
  console.out << (command.json
                      ? monitor_results_json(results)
                      : monitor_results_text(results, command.rules.empty(),
                                             command.detail));
  const std::string note = preset_note(command.rules);
  if (!note.empty() && !command.json && command.detail != Detail::quiet)
    console.out << "parameters: " << note << "\n";
  console.out << std::flush;
  // Below the table, which may be long.
  for (const MonitorResult& result : results) {
    if (result.error && !command.json) (void)console.fail(*result.error);
  }
  return code;
}

}  // namespace smdebug
