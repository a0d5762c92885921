#pragma once

// The collections file of one worker of a run, by itself: to look into one
// without opening the run, or to write one where no session does. `Trial`
// reads and joins those of all workers.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/store/storage.h"

namespace smdebug {

struct SavedCollections {
  std::vector<Collection> collections;  // in order of creation
  int num_workers = 1;                  // of the whole run

  friend bool operator==(const SavedCollections&,
                         const SavedCollections&) = default;
};

/// Fails with `invalid_argument` for text that is no collections file, naming
/// the collection and the field. What a collection leaves out is empty.
Result<SavedCollections> parse_collections(std::string_view text);

/// Returns the text of a collections file (docs/format.md).
std::string collections_text(const SavedCollections& saved);

/// Writes the text to "collections/000000000/<file_name>" of `run`. Fails with
/// `invalid_argument` for a name that is no file's, and with `io`.
Status write_collections(const SavedCollections& saved, Storage& run,
                         std::string_view file_name);

}  // namespace smdebug
