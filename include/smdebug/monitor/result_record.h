#pragma once

// A `MonitorResult` as bytes, which travel from the process that judged a run
// to the one that prints the results (`smdebug check --ray`). They are not
// meant for disks: only the same version of smdebug reads them.

#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/monitor/monitor_result.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns all of `result` as bytes, without the subjects of its errors.
std::string result_record(MonitorResult result);

/// Returns the result that `result_record` was given. Fails with `unsupported`
/// for a record of another version of smdebug, and with `corrupt`.
Result<MonitorResult> parse_result_record(std::string_view record);

}  // namespace smdebug
