#pragma once

// `facts/<worker>-<step>.json` (docs/format.md): what one worker trains, from
// that step on.

#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/core/run_facts.h"

namespace smdebug {

std::string write_facts_file(const RunFacts& facts);

// Fails with `corrupt` if a member is missing, has another type or is out of
// range, and with `unsupported` for a later version. Ignores unknown members.
Result<RunFacts> parse_facts_file(std::string_view text);

}  // namespace smdebug
