#pragma once

// Reads index files in batches, parses each, and checks that it is the file of
// its name.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "format/file_names.h"
#include "format/index_file.h"

namespace smdebug {

// Index files that are read before the first of them is parsed: a store that
// gets many requests at once never waits for the next one.
class IndexFileBatch {
 public:
  bool is_full() const {
    return files_.size() >= kMostFiles || bytes_ >= kMostBytes;
  }
  void add(std::string key, std::uint64_t bytes) {
    files_.push_back({std::move(key), {}});
    bytes_ += bytes;
  }

  const std::string& key(std::size_t i) const { return files_[i].key; }
  // Returns the content of each file, in the order of `add`.
  std::vector<Result<Bytes>> read(const Storage& storage) const {
    return storage.read_each(files_);
  }

 private:
  static constexpr std::size_t kMostFiles = 512;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

  std::vector<ObjectRange> files_;
  std::uint64_t bytes_ = 0;
};

// Fails as `bytes`, as `parse_index_file`, and with `corrupt` if the content
// names the event file of another step or worker: it was renamed or exchanged.
Result<IndexFile> checked_index_file(const Result<Bytes>& bytes,
                                     const StepFileName& name,
                                     IndexParts parts);

}  // namespace smdebug
