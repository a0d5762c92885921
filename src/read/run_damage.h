#pragma once

// Finds damage in the parts of a run that no index file leads to: its folders,
// and the files that describe the run as a whole. `Trial` adds it to the damage
// that the index and the values show.

#include <vector>

#include "smdebug/read/trial.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// True if the folder of the index or of the collections exists but cannot be
// listed: there is a run, although none of its files can be read.
bool has_unreadable_folder(const Storage& storage);

// Returns the folders that cannot be listed, and each of `run.json`,
// `progress.json`, `claim.smd` and the end marker that is not a file, too
// large, or invalid.
// Missing ones are no damage. Reads these files.
std::vector<Damage> damage_beside_index(const Storage& storage);

}  // namespace smdebug
