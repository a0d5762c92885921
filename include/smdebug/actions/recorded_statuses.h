#pragma once

// Reads the rule statuses that monitors keep beside a run.

#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/recorded_status.h"
#include "smdebug/store/storage.h"

namespace smdebug {

/// Returns the statuses beside the run, sorted by key; empty if no process has
/// judged it. Skips files that are not statuses. Fails with `io`.
Result<std::vector<RecordedStatus>> read_recorded_statuses(
    const Storage& storage);

}  // namespace smdebug
