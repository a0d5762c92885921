// smdebug check RUN... --rule ...

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"
#include "smdebug/monitor/result_record.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/report/verdict_groups.h"
#include "smdebug/rules/builtin_rules.h"

#include "commands.h"
#include "judging.h"
#include "run_patterns.h"

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

// One run of the command line. One thread judges it, or another process; its
// messages are kept until those of earlier runs are printed.
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

  void fail(Error error) { result_.error = std::move(error); }

  // Takes what another process returned instead of `judge`.
  void accept(Result<RemoteResult> remote) {
    auto read = read_remote(std::move(remote));
    if (read) {
      result_ = *std::move(read);
    } else {
      result_.error =
          std::move(read).error().within("run '" + result_.location + "'");
    }
  }

  // The command line of `judge_for_ray` that judges the run like `judge`.
  std::vector<std::string> arguments() const {
    std::vector<std::string> words = {"check", result_.location};
    for (const RuleRequest& request : command_.rules) {
      words.push_back("--rule=" + request.rule);
      for (const auto& [name, value] : request.given)
        words.push_back("--set=" + name + "=" + value);
    }
    return words;
  }

  const MonitorResult& result() const { return result_; }
  std::string messages() const { return messages_.str(); }

 private:
  Result<MonitorResult> read_remote(Result<RemoteResult> remote) {
    SMD_TRY(const RemoteResult returned, std::move(remote));
    messages_ << returned.messages;
    return parse_result_record(returned.record);
  }

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

// A line per run as its result arrives.
void print_progress(const MonitorResult& result, std::size_t judged,
                    std::size_t runs, bool are_default_rules,
                    const Console& console) {
  console.err << "smdebug: "
              << printable(fmt::format(
                     "{} of {} runs: {}: {}", judged, runs, result.location,
                     result.error
                         ? "cannot be judged"
                         : outcome_text(result.verdicts, are_default_rules)))
              << std::endl;
}

// Judges the runs in other processes. Fails if none could be judged there.
Status judge_on_ray(const CheckedRuns& runs, const CheckCommand& command,
                    const Console& console) {
  std::vector<std::vector<std::string>> commands;
  for (const auto& one : runs) commands.push_back(one->arguments());
  std::vector<bool> is_judged(runs.size(), false);
  std::size_t judged = 0;
  Status ended = console.hooks.judge_on_ray(
      command.ray, commands,
      [&](std::size_t index, Result<RemoteResult> remote) {
        runs[index]->accept(std::move(remote));
        is_judged[index] = true;
        ++judged;
        if (command.detail == Detail::quiet) return;
        print_progress(runs[index]->result(), judged, runs.size(),
                       command.rules.empty(), console);
      });
  if (!ended && judged == 0) return ended;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (is_judged[i]) continue;
    runs[i]->accept(ended ? Error{Error::Code::internal, "was not judged"}
                          : ended.error());
  }
  return {};
}

// Whether runs can be judged by other processes as the user asks.
Status check_ray(const CheckCommand& command, const Console& console) {
  if (command.ray.empty()) return {};
  if (!console.hooks.judge_on_ray) {
    return Error{Error::Code::invalid_argument,
                 "--ray needs Python, which this program does not support; use "
                 "the 'smdebug' command of the Python package, or omit --ray"};
  }
  if (command.actions.empty()) return {};
  return Error{Error::Code::invalid_argument,
               "--action does not work with --ray, because the processes that "
               "judge may run on machines where actions such as 'stop' and "
               "'command' find nothing; omit one of them"};
}

// Whether the user forgot '--rule' before it.
bool is_name_of_rule(const std::string& location) {
  std::error_code ignored;
  return find_builtin_rule(location) &&
         !std::filesystem::exists(location, ignored);
}

// Makes the runs of the command and their rules. Fails as `make_rules` and
// `expand_patterns`.
Result<CheckedRuns> make_runs(const CheckCommand& command,
                              const Console& console) {
  SMD_TRY(const FoundRuns found, expand_patterns(command.runs));
  for (const std::string& reason : found.skipped)
    console.err << "smdebug: " << printable(reason) << std::endl;
  CheckedRuns runs;
  for (const std::string& location : found.runs) {
    if (is_name_of_rule(location)) {
      return Error{Error::Code::invalid_argument,
                   "no run at '" + location +
                       "', which is the name of a rule: put --rule before it"};
    }
    runs.push_back(std::make_unique<CheckedRun>(command, location, console));
    SMD_CHECK_OK(runs.back()->make());
  }
  return runs;
}

}  // namespace

std::string judge_one(const CheckCommand& command, const Console& console) {
  CheckedRun run(command, command.runs.front(), console);
  SharedProgress silent(console, Detail::quiet);
  if (const Status made = run.make(); made) {
    run.judge(silent);
  } else {
    run.fail(made.error());
  }
  console.err << run.messages() << std::flush;
  return result_record(run.result());
}

int run(const CheckCommand& command, const Console& console) {
  if (const Status known = check_actions(command.actions); !known)
    return console.fail(known.error());
  if (const Status usable = check_ray(command, console); !usable)
    return console.fail(usable.error());
  const auto made = make_runs(command, console);
  if (!made) return console.fail(made.error());
  const CheckedRuns& runs = *made;
  if (command.ray.empty()) {
    judge_all(runs, console, command.detail);
  } else if (const Status judged = judge_on_ray(runs, command, console);
             !judged) {
    return console.fail(judged.error());
  }
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
