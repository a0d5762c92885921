#pragma once

// The files below a folder, as `Storage::list` gives them.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// Opens no folder whose keys cannot start with `prefix` or all sort up to
// `after`. Files and folders that vanish meanwhile are left out.
Result<std::vector<ObjectEntry>> list_files(const std::string& root,
                                            std::string_view prefix,
                                            std::string_view after);

}  // namespace smdebug
