#pragma once

#include <memory>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// Returns the storage of the run at `location`, which may be in the folder
// "debug-output" there. Reads no step. Fails as `Trial::open`, with `not_found`
// if there is no run.
Result<std::shared_ptr<Storage>> find_run_storage(const std::string& location);

}  // namespace smdebug
