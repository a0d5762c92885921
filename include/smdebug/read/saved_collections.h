#pragma once

// Reads and writes the collections file of one worker, for tools that inspect a
// file without opening the run, and for programs that write a run without a
// session. `Trial` reads and merges the files of all workers.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

struct SavedCollections {
  std::vector<Collection> collections;  // in order of creation
  int num_workers = 1;                  // of the whole run

  friend bool operator==(const SavedCollections&,
                         const SavedCollections&) = default;
};

/// Parses the text of a collections file. Fields that a collection omits are
/// empty. Fails with `invalid_argument` for any other text, naming the
/// collection and the field.
Result<SavedCollections> parse_collections(std::string_view text);

/// Reads the file `key` of `folder`. Fails as `parse_collections`, with
/// `not_found`, and with `io`, also for a file that is larger than any of its
/// kind (docs/format.md).
Result<SavedCollections> read_collections(const Storage& folder,
                                          std::string_view key);

/// Returns `saved` as the text of a collections file (docs/format.md).
std::string collections_text(const SavedCollections& saved);

/// Writes `saved` to "collections/000000000/<file_name>" of `run`. Fails with
/// `invalid_argument` if `file_name` cannot be a file name, and with `io`.
Status write_collections(const SavedCollections& saved, Storage& run,
                         std::string_view file_name);

}  // namespace smdebug
