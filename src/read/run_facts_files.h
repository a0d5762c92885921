#pragma once

// `RunFactsFiles` reads the facts files of a run, of every worker and step. A
// file is written once and does not change.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/store/storage.h"

namespace smdebug {

class RunFactsFiles {
 public:
  // Reads the files that are new. Fails with `io` if they cannot be listed, but
  // not if their folder can never be listed (see `Storage::check_folder`).
  Status refresh(const Storage& storage);

  // Sorted by step, then by worker.
  const std::vector<WorkerFacts>& all() const { return all_; }
  const std::map<std::string, std::string>& broken_files() const {
    return broken_;
  }

 private:
  void read_file(const Storage& storage, const std::string& key);

  std::optional<std::uint64_t> listed_version_;  // of the folder, before that
  std::set<std::string> known_;                  // keys
  std::vector<WorkerFacts> all_;
  std::map<std::string, std::string> broken_;  // key -> reason
};

}  // namespace smdebug
