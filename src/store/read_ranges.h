#pragma once

// Many ranges of one open file at once. Small ones that lie close together are
// read in one call and share a block; large ones are mapped.

#include <span>
#include <string>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "store/posix_file.h"

namespace smdebug {

// Cuts a range short at the end of a file of that many bytes.
ByteRange cut_range(const ByteRange& range, std::uint64_t file_bytes);

// Ranges are cut short at the file's end. Fails with `io`.
Result<std::vector<Bytes>> read_ranges(const OpenFile& file,
                                       const std::string& path,
                                       std::span<const ByteRange> ranges);

}  // namespace smdebug
