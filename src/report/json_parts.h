#pragma once

// The JSON of what several pages show, in one spelling.

#include <span>
#include <string>
#include <vector>

#include "smdebug/core/mode.h"
#include "smdebug/core/statistics.h"
#include "smdebug/rules/verdict.h"

#include "base/json.h"

namespace smdebug {

Json to_json(const StepId& step);
Json to_json(const Evidence& evidence);
Json to_json(const Verdict& verdict);
Json to_json(std::span<const Verdict> verdicts);
Json to_json(const TensorStatistics& statistics);
Json to_json(std::span<const std::string> texts);
Json to_json(std::span<const std::int64_t> numbers);

}  // namespace smdebug
