#pragma once

// A `Rule` that was written in Python. The command line makes it of
// `--rule file.py:Class`; the runner drives it like any other.
//
// The Python object behind it has `judge(step)`, which returns None or a
// sentence that describes the problem, and raises what the rule raises
// (smdebug/rules/judge.py). One with `takes_tensors` judges running steps:
// `judge((global step, mode, step of the mode), tensors)`, where `tensors` are
// pairs of a name and the parts of an array, or None where the elements were
// not kept (also in judge.py).

#include <memory>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "smdebug/rules/rule.h"

namespace smdebug {

/// Makes rules of Python pairs: the name of a built-in rule and its parameters
/// (texts), or a judge and nothing. Needs the GIL. Fails as
/// `make_builtin_rule` does.
Result<std::vector<std::unique_ptr<Rule>>> make_rules(
    const nanobind::list& rules);

/// Owns `judge`. The rule takes the GIL itself, whoever calls it.
std::unique_ptr<Rule> make_python_rule(std::string_view name,
                                       nanobind::object judge);

}  // namespace smdebug
