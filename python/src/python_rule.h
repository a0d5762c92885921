#pragma once

// A `Rule` that was written in Python. The command line makes it from
// `--rule file.py:Class`; the runner calls it like any other rule.
//
// The Python object behind it has `judge(step)`, which returns None or a
// sentence that describes the problem, and raises an exception with a sentence
// if the rule fails (smdebug/rules/judge.py). One with `takes_tensors` judges
// running steps: `judge((global step, mode, step of the mode), tensors)`, where
// `tensors` are pairs of a name and the parts of an array, or None if the
// elements were not kept (also in judge.py).

#include <memory>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "smdebug/rules/rule.h"

namespace smdebug {

/// Makes rules from Python pairs: the name of a built-in rule and its
/// parameters as strings, or a judge and None. Needs the GIL. Fails as
/// `make_builtin_rule`.
Result<std::vector<std::unique_ptr<Rule>>> make_rules(
    const nanobind::list& rules);

/// Makes a rule that owns `judge`. The rule acquires the GIL itself.
std::unique_ptr<Rule> make_python_rule(std::string_view name,
                                       nanobind::object judge);

}  // namespace smdebug
