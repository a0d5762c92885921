#pragma once

// `progress.json` (docs/format.md): the progress of a run in one small file,
// which lists of runs read instead of the index.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/core/run_progress.h"

#include "base/environment.h"

namespace smdebug {

// Bounds of the file, whatever the training saves. More losses and longer names
// are left out; a longer error or name of an exception is cut.
inline constexpr std::size_t kMaxProgressLosses = 16;
inline constexpr std::size_t kMaxProgressNameBytes = 500;
inline constexpr std::size_t kMaxProgressErrorBytes = 1000;

// A session writes the file this often if it has saved steps since. In a remote
// storage it does so even if it has not: the file shows other hosts that the
// process runs.
inline constexpr std::chrono::seconds kProgressInterval{30};

// Returns the process that wrote the file.
ProcessMark writer_of(const RunProgress& progress);

// Whether a process on another host, which writes to a remote storage, has
// died: it wrote this file, but not for three minutes.
bool has_fallen_silent(const ProcessMark& process, const RunProgress& progress,
                       double wall_seconds);

std::string write_progress_file(const RunProgress& progress);

// Fails with `corrupt` if a member is missing, has another type or is out of
// range, and with `unsupported` for a later version. Ignores unknown members.
Result<RunProgress> parse_progress_file(std::string_view text);

}  // namespace smdebug
