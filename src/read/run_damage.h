#pragma once

// Finds damage in the parts of a run that no index file leads to: its folders,
// and the files that describe the run as a whole. `Trial` adds it to the damage
// that the index and the values show.

#include <vector>

#include "smdebug/read/trial.h"
#include "smdebug/store/storage.h"

#include "index/run_table.h"

namespace smdebug {

// True if the folder of the index or of the collections exists but cannot be
// listed: there is a run, although none of its files can be read.
bool has_unreadable_folder(const Storage& storage);

// True if `progress.json` counts saved steps: there is a run, although its
// folders may have been removed.
bool has_published(const Storage& storage);

// Returns the folders that cannot be listed, and each of `run.json`,
// `progress.json`, `claim.smd` and the end marker that is not a file, too
// large, or invalid.
// Missing ones are no damage. Reads these files.
std::vector<Damage> damage_beside_index(const Storage& storage);

// True if the index file of `file` was removed: a writer with `max_run_bytes`
// removes a step's index file before its event file. An index file without its
// event file is therefore damage.
bool was_removed(const Storage& storage, const RunTable& table, FileId file);

// Returns the event files that are missing or do not have the size that the
// index of a run that is over expects, or the folder of all of them. Lists the
// files, and reads none: other bytes of the same number show when a value is
// read.
std::vector<Damage> damage_of_event_files(const Storage& storage,
                                          const RunTable& table);

// Returns the folders, index files and `run.json` that a run that is over must
// have by its `progress.json`, and lacks. Runs without that file, such as those
// of the original and of a `FileWriter`, may lack any of them. `has_ended`: the
// run has an end marker. Lists the files, and reads none of a step.
std::vector<Damage> damage_by_progress(const Storage& storage, bool has_ended);

}  // namespace smdebug
