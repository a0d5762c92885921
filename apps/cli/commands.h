#pragma once

// The sub-commands: one function each. They return the exit code.

#include <string>

#include "command_line.h"
#include "console.h"

namespace smdebug {

int run(const RunCommand& command, const Console& console);
int run(const WatchCommand& command, const Console& console);
int run(const CheckCommand& command, const Console& console);
int run(const ShowCommand& command, const Console& console);
int run(const TensorCommand& command, const Console& console);
int run(const ExplainCommand& command, const Console& console);
int run(const ReportCommand& command, const Console& console);
int run(const LsCommand& command, const Console& console);
int run(const RmCommand& command, const Console& console);
int run(const PackCommand& command, const Console& console);
int run(const ExportCommand& command, const Console& console);
int run(const SqlCommand& command, const Console& console);
int run(const RulesCommand& command, const Console& console);

// Judges the only run of `command` and returns its result as bytes; see
// `judge_for_ray`.
std::string judge_one(const CheckCommand& command, const Console& console);

}  // namespace smdebug
