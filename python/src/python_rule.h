#pragma once

// A `Rule` that was written in Python. The command line makes it of
// `--rule file.py:Class`; the runner drives it like any other.
//
// The Python object behind it has `judge(step)`, which returns None or the
// sentence that says what is wrong, and raises what the rule raises
// (smdebug/rules/judge.py).

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include "smdebug/rules/rule.h"

namespace smdebug {

/// Owns `judge`. The rule takes the GIL itself, whoever calls it.
std::unique_ptr<Rule> make_python_rule(std::string name,
                                       nanobind::object judge);

}  // namespace smdebug
