#pragma once

// The files below a folder, as `Storage::list` gives them.

#include <cstdint>
#include <optional>
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

// Returns a number that changes with the names in a folder, which may be
// missing; none where it was changed so shortly before `now_seconds`, wall
// time, that another change could leave no trace in it.
std::optional<std::uint64_t> version_of_folder(const std::string& path,
                                               double now_seconds);

}  // namespace smdebug
