#pragma once

// The JSON of what several pages show, in one spelling.

#include <span>
#include <string>
#include <vector>

#include "smdebug/core/statistics.h"

#include "base/json.h"
#include "rules/engine/verdict_json.h"

namespace smdebug {

Json to_json(const TensorStatistics& statistics);
Json to_json(std::span<const std::string> texts);
Json to_json(std::span<const std::int64_t> numbers);

// See likely_cause.h; null where there is none.
Json likely_cause_json(std::span<const Verdict> verdicts);

}  // namespace smdebug
