#pragma once

// Reads and replaces small text files that are not part of a run, such as
// configurations. The files of a run are read through `Storage`.

#include <cstddef>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"

namespace smdebug {

// A configuration takes about 100 bytes per collection.
inline constexpr std::size_t kMaxTextFileBytes = std::size_t{64} << 20;

// Returns true if `path` is a file, perhaps one that this user may not read.
bool is_file(const std::string& path);

// Returns the whole file. Fails with `not_found` if it does not exist, with
// `unavailable` if it does not respond within `limit`, such as a pipe
// without a writer, and with `io` if it cannot be read or is larger than
// `kMaxTextFileBytes`. Each message names the path.
Result<std::string> read_text_file(
    const std::string& path,
    const WaitLimit& limit = WaitLimit::from_environment());

// Creates or replaces a file that only this user may read. Readers find the old
// text or the new one, never a part. Fails with `unavailable` as above, and
// with `io` if the file cannot be written. Each message names the path.
Status replace_private_file(
    const std::string& path, const std::string& text,
    const WaitLimit& limit = WaitLimit::from_environment());

}  // namespace smdebug
