#pragma once

// The command `smdebug`, as a function: apps/cli/main.cc is the program over
// it, the wheel's console script is the same with rules written in Python.
//
// Called from the main thread of a program that then ends: `smdebug run`
// takes over the signals of its terminal while the training runs, and puts
// them back.

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

// What the surrounding program adds to the command line.
struct CliHooks {
  /// Makes the rule of `--rule file.py:Class`. `given` are its `--set`, `run`
  /// the run that it will judge, which need not exist before its first step.
  /// Empty: rules in Python are refused with a sentence that says where they
  /// work.
  std::function<Result<std::unique_ptr<Rule>>(
      const std::string& spec, const std::map<std::string, std::string>& given,
      const std::string& run)>
      load_python_rule;

  std::ostream* out = nullptr;   // null: standard output
  std::ostream* err = nullptr;   // null: standard error
  const Clock* clock = nullptr;  // null: system_clock()
};

/// Runs the command line `args`, without the program's name, and returns its
/// exit code: 0 nothing found, 1 an error, 2 a command line that makes no
/// sense, 3 a rule fired; under `run` the trainer's own code where it failed
/// by itself.
int smdebug_main(std::span<const std::string> args, const CliHooks& hooks = {});

}  // namespace smdebug
