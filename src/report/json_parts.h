#pragma once

// JSON that several reports contain, spelled the same in each.

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

// Returns the cause that `likely_cause_text` names (diagnosis.h); null if fewer
// than two rules fired.
Json likely_cause_json(std::span<const Verdict> verdicts);

// Returns an array with an object per diagnosis (diagnosis.h).
Json diagnosis_json(std::span<const Verdict> verdicts);

}  // namespace smdebug
