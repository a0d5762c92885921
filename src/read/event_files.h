#pragma once

// `EventFiles` reads the records of a run and keeps the files that were asked
// last open, a few of them, so that the next record of the same step costs no
// opening. Where an open file fails it is opened anew, once: it may have been
// replaced. Readers of very many files in a row call `read_record` instead.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/read/tensor.h"
#include "smdebug/store/storage.h"

#include "index/run_table.h"

namespace smdebug {

class EventFiles {
 public:
  // Both must outlive this.
  EventFiles(const Storage& storage, const RunTable& table)
      : storage_(storage), table_(table) {}

  // Fails as `read_record` does.
  Result<TensorValue> read(EntryId entry);

  // Reads entries of one file, at once, in their order.
  Result<std::vector<TensorValue>> read(std::span<const EntryId> entries);

 private:
  struct OpenFile {
    FileId file = kNone;
    std::uint64_t last_use = 0;
    std::unique_ptr<ObjectReader> reader;
  };

  Result<TensorValue> read_once(EntryId entry);
  Result<std::vector<TensorValue>> read_once(std::span<const EntryId> entries);
  Result<const ObjectReader*> open(FileId file);
  template <typename Read>
  auto read_anew(FileId file, Read read);
  bool is_open(FileId file) const;
  void close(FileId file);

  const Storage& storage_;
  const RunTable& table_;
  std::vector<OpenFile> open_;
  std::uint64_t uses_ = 0;
};

}  // namespace smdebug
