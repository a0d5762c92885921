#pragma once

// `RunCollections` is what the collections files of a run say: how its
// tensors are grouped, and which workers write it. Each worker has a file and
// replaces it when it grows; definitions come from the first worker, tensor
// names from all of them.

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

namespace smdebug {

class RunCollections {
 public:
  // Reads the files that are new or have another size. Fails with `io` where
  // they cannot be listed. A broken file is told in `broken_files` and counts
  // for its worker's name alone.
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
  // Sorts the names of each collection, and keeps one of each.
  void sort_names();

  std::vector<ObjectEntry> listed_;
  std::optional<std::uint64_t> listed_version_;  // of their folder, before
  std::vector<Collection> collections_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of a name there
  std::set<std::string> workers_;
  int num_workers_ = 1;
  std::map<std::string, std::string> broken_;  // key -> what
  int version_ = 0;
};

}  // namespace smdebug
