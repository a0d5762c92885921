#pragma once

// Reads what watches and rules inside the step keep beside a run.

#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/rules/recorded_status.h"
#include "smdebug/store/storage.h"

namespace smdebug {

/// Returns the statuses beside the run, sorted by key; none where nobody has
/// judged it. A file that is no status is left out. Fails with `io`.
Result<std::vector<RecordedStatus>> read_recorded_statuses(
    const Storage& storage);

}  // namespace smdebug
