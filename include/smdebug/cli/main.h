#pragma once

// The command `smdebug` as a function. apps/cli/main.cc wraps it; the wheel's
// console script adds rules written in Python.
//
// Call it from the main thread of a program that exits afterward: `smdebug run`
// takes over the signals of its terminal while the training runs, then restores
// them.

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/rules/rule.h"

namespace [[gnu::visibility("default")]] smdebug {

// A file that `smdebug export` asks the surrounding program to write.
struct ExportRequest {
  std::string format;  // "parquet", "npz" or "safetensors"
  std::string out;     // the file to write
  // "parquet": an Arrow file with the table. Otherwise the location of the run.
  std::string source;
  // Of "npz" and "safetensors": regular expressions, of which a name must match
  // one, unless there are none; and a step of `mode`, by default the last one.
  std::vector<std::string> tensors;
  std::optional<Step> step;
  Mode mode = Mode::global;
};

// A run that another process judged with `judge_for_ray`.
struct RemoteResult {
  std::string record;    // what `judge_for_ray` returned
  std::string messages;  // what it printed to standard error
};

// Additions of the surrounding program to the command line.
struct CliHooks {
  /// Creates the rule of `--rule file.py:Class`. `given` are its `--set`; `run`
  /// is the run that it will judge, which need not exist before its first step.
  /// Empty: rules in Python are refused with a message that explains where they
  /// work.
  std::function<Result<std::unique_ptr<Rule>>(
      const std::string& spec, const std::map<std::string, std::string>& given,
      const std::string& run)>
      load_python_rule;

  /// Writes a file for which the core has no library. Empty: these formats are
  /// refused with a message that explains where they work.
  std::function<Status(const ExportRequest&)> export_file;

  /// Judges runs on the Ray cluster at `address`, for `smdebug check --ray`:
  /// passes each of `commands` to `judge_for_ray` in a process of the cluster,
  /// and calls `on_judged` with its index when its result arrives, on the
  /// thread of the call. A process that dies for good is the error of its run.
  /// Fails if the cluster cannot be used. Empty: --ray is refused with a
  /// message that explains where it works.
  std::function<Status(
      const std::string& address,
      std::span<const std::vector<std::string>> commands,
      const std::function<void(std::size_t, Result<RemoteResult>)>& on_judged)>
      judge_on_ray;

  std::ostream* out = nullptr;   // null: standard output
  std::ostream* err = nullptr;   // null: standard error
  bool err_is_terminal = false;  // of `err`, if that is given
  std::istream* in = nullptr;    // null: standard input
  bool in_is_terminal = false;   // of `in`, if that is given
  const Clock* clock = nullptr;  // null: system_clock()
};

/// Runs the command line `args`, without the program's name, and returns
/// its exit code: 0 no rule fired, 1 an error, 2 wrong usage, 3 a rule
/// fired. If the training fails under `run`, returns the exit code of the
/// training.
int smdebug_main(std::span<const std::string> args, const CliHooks& hooks = {});

/// Judges the one run of `args`, a command line of `smdebug check` from
/// `CliHooks::judge_on_ray`, as `smdebug_main` would. Returns the result in
/// bytes for the process that made the command, and prints messages. An error
/// is a part of the result.
std::string judge_for_ray(std::span<const std::string> args,
                          const CliHooks& hooks = {});

}  // namespace smdebug
