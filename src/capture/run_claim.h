#pragma once

// Makes sure that one process writes a run that has one writer. A claim left
// behind by a process that is gone is taken over; that of a live one is
// respected.

#include <memory>
#include <optional>
#include <string>

#include "smdebug/base/logger.h"
#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// Claims the run in `storage` for this process. Returns none on success, or
// why another process has it, in one sentence. Fails with `io` where the
// storage cannot be written.
Result<std::optional<std::string>> claim_run(Storage& storage, Logger& logger);

}  // namespace smdebug
