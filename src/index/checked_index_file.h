#pragma once

// Parses an index file that was read under a name, and checks that it is the
// file of that name.

#include <cstddef>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "format/file_names.h"
#include "format/index_file.h"

namespace smdebug {

// Index files that are read at once: a store answers that many requests in the
// time of one.
inline constexpr std::size_t kIndexFilesAtOnce = 64;

// Fails as `bytes`, as `parse_index_file`, and with `corrupt` if the content
// names the event file of another step or worker: it was renamed or exchanged.
Result<IndexFile> checked_index_file(const Result<Bytes>& bytes,
                                     const StepFileName& name,
                                     IndexParts parts);

}  // namespace smdebug
