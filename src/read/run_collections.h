#pragma once

// `RunCollections` merges the collections files of a run: how its tensors are
// grouped, and which workers write it. Each worker replaces its file as it
// grows. Definitions come from the first worker, tensor names from all of them.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/core/observation.h"
#include "smdebug/store/storage.h"

#include "format/collections_file.h"

namespace smdebug {

// Converts a collection of a file to one of the configuration. Fails with
// `invalid_config` if the file names an unknown reduction.
Result<Collection> collection_of(const StoredCollection& stored);
StoredCollection stored_of(const Collection& collection);

// The first collection of each tensor, other than "all", by the tensor's name.
std::map<std::string, std::string, std::less<>> first_collections(
    const std::vector<Collection>& collections);

class RunCollections {
 public:
  // Reads all files again if one is new or has another size. Fails with `io` if
  // they cannot be listed, but not if their folder can never be listed (see
  // `Storage::check_folder`). A broken file is listed in `broken_files`; only
  // its worker's name counts.
  Status refresh(const Storage& storage);

  const std::vector<Collection>& collections() const { return collections_; }
  std::vector<TensorGroup> groups() const;
  const std::set<std::string>& workers() const { return workers_; }
  int num_workers() const { return num_workers_; }
  const std::map<std::string, std::string>& broken_files() const {
    return broken_;
  }
  // Grows with each change.
  int version() const { return version_; }

 private:
  void read_file(const Storage& storage, const std::string& key);
  // Sorts the tensor names of each collection and removes duplicates.
  void sort_names();

  std::vector<ObjectEntry> listed_;
  std::optional<std::uint64_t> listed_version_;  // of the folder, before that
  std::vector<Collection> collections_;
  std::map<std::string, std::size_t, std::less<>> indices_;  // by name
  std::set<std::string> workers_;
  int num_workers_ = 1;
  std::map<std::string, std::string> broken_;  // key -> reason
  int version_ = 0;
};

}  // namespace smdebug
