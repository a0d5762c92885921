#pragma once

// Reads the record of an index entry from its event file, and verifies its
// framing, name and checksum. `EventFiles` keeps files open between records;
// readers of very many files in a row call `read_each_record` instead.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/read/tensor.h"
#include "smdebug/store/storage.h"

#include "format/tensor_record.h"
#include "index/run_table.h"

namespace smdebug {

// Reads one record; `entry` must have one. Fails with `not_found` if the writer
// has removed the step, with `io` if the event file is missing or cannot be
// read, and with `corrupt` for bytes that are not the record; all name tensor,
// step and file. Safe from several threads while the table does not change.
Result<TensorValue> read_record(const Storage& storage, const RunTable& table,
                                EntryId entry);

// Does the same for many entries, in their order.
std::vector<Result<TensorValue>> read_each_record(
    const Storage& storage, const RunTable& table,
    std::span<const EntryId> entries);

// Does the same, given the bytes of the whole event file.
Result<TensorValue> read_record_in(const Bytes& event_file,
                                   const RunTable& table, EntryId entry);

// Returns the elements of a parsed record. They point into `bytes` if they are
// aligned there.
TensorValue record_value(TensorRecord record, const Bytes& bytes);

// Does the same as `read_record`, given the bytes of the record.
Result<TensorValue> parse_record(const Bytes& record, const RunTable& table,
                                 EntryId entry);

// Returns the error for an event file that could not be read: `not_found` if
// the writer has removed the step, otherwise `io`.
Error unreadable_record(const Storage& storage, const Error& reason,
                        const RunTable& table, EntryId entry);

// Returns the first element of a saved reduction as float64; NaN if it has
// none.
double reduction_value(const TensorValue& saved);

// Reads records and keeps the last few files open, so that the next record of a
// step needs no opening. If reading an open file fails, opens it again once: it
// may have been replaced.
class EventFiles {
 public:
  // Both must outlive this.
  EventFiles(const Storage& storage, const RunTable& table)
      : storage_(storage), table_(table) {}

  // Fails as `read_record`.
  Result<TensorValue> read(EntryId entry);

  // Closes all files.
  void close() { open_.clear(); }

  // Reads entries of one file in one pass, and returns them in their order.
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
  auto read_or_reopen(FileId file, Read read);
  bool is_open(FileId file) const;
  void close(FileId file);

  const Storage& storage_;
  const RunTable& table_;
  std::vector<OpenFile> open_;
  std::uint64_t uses_ = 0;
};

}  // namespace smdebug
