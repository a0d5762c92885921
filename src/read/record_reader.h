#pragma once

// Reads the elements behind an index entry out of its event file, and checks
// that they are those: the framing, the name, the checksum.

#include <memory>
#include <span>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/read/tensor.h"
#include "smdebug/store/storage.h"

#include "format/tensor_record.h"
#include "index/run_table.h"

namespace smdebug {

// Reads one record. Fails with `io` for an event file that is missing or
// cannot be read, and with `corrupt` for bytes that are not the record; both
// name tensor, step and file. `entry` has a record. Safe to call from several
// threads while the table stays as it is.
Result<TensorValue> read_record(const Storage& storage, const RunTable& table,
                                EntryId entry);

// Reads many, in their order: each place is what `read_record` of it gives.
std::vector<Result<TensorValue>> read_each_record(
    const Storage& storage, const RunTable& table,
    std::span<const EntryId> entries);

// The same from the bytes of the whole event file.
Result<TensorValue> read_record_in(const Bytes& event_file,
                                   const RunTable& table, EntryId entry);

// Returns the elements of a parsed record, which point into `bytes` where they
// can be read there.
TensorValue record_value(TensorRecord record, const Bytes& bytes);

// The same from the bytes of the record alone.
Result<TensorValue> parse_record(const Bytes& record, const RunTable& table,
                                 EntryId entry);

// The error of an event file that could not be read, for `reason`: `not_found`
// where the writer has removed the step, else `io`.
Error unreadable_record(const Storage& storage, const Error& reason,
                        const RunTable& table, EntryId entry);

// Returns the first element of a saved reduction as fp64; NaN where it has
// none.
double reduction_value(const TensorValue& saved);

}  // namespace smdebug
