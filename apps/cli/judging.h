#pragma once

// Shared by the judging sub-commands: the rules that the user requested, and a
// monitor that reports to the console.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/monitor/run_monitor.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/rule.h"

#include "console.h"

namespace smdebug {

// Makes the rules of `requests` to judge `run`, or the default set if there are
// none. Fails with `invalid_argument` or `invalid_config`, and as the hook that
// loads rules in Python.
Result<std::vector<std::unique_ptr<Rule>>> make_rules(
    std::span<const RuleRequest> requests, const std::string& run,
    const Console& console);

// Returns options for a monitor that writes its messages to `console`, which
// outlives it, and writes the reports of rules that have one.
RunMonitorOptions monitor_options(const Console& console);

// Returns which of the requested rules use other parameters than without
// --rule, and how to select those, as a sentence; empty if none does.
std::string preset_note(std::span<const RuleRequest> requests);

// Prints the paths of the rules' reports, or why one could not be written.
void print_reports(const MonitorResult& result, const Console& console);

}  // namespace smdebug
