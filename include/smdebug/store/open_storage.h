#pragma once

// Opens a `Storage` from user input: a path or a URI.

#include <memory>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

/// Opens the storage at `location`: "/runs/a", "~/runs/a", "runs/a",
/// "memory://name" (one store per name and process, for tests). Nothing is
/// created. Fails with `unsupported` for other schemes and `invalid_argument`
/// for an empty location.
Result<std::shared_ptr<Storage>> open_storage(std::string_view location);

}  // namespace smdebug
