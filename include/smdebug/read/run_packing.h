#pragma once

// Statistics files: the contents of a run's index files, many in one. A
// training writes them as it goes. `pack_run` writes those that a run lacks: a
// run of the original, of an older smdebug, or of a training that was killed.

#include <cstdint>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

struct PackingCounts {
  std::uint64_t packed_before = 0;  // index files that were packed already
  std::uint64_t packed = 0;         // index files
  std::uint64_t damaged = 0;        // index files that cannot be packed
  std::uint64_t files = 0;          // statistics files that were written
  std::uint64_t removed = 0;        // damaged or outdated statistics files
};

/// Packs every index file of a run that is whole, and replaces the statistics
/// files that are damaged or out of date. The index files stay. Fails with `io`
/// as the storage; what was packed by then stays.
Result<PackingCounts> pack_run(Storage& storage);

}  // namespace smdebug
