#pragma once

// Passes columns to another library in the same process, without copying them.

#include <vector>

#include "smdebug/core/arrow_c_stream.h"

#include "format/arrow_file.h"

namespace smdebug {

// Makes `stream` a stream of one batch with these columns, which have the same
// number of rows. The caller releases it.
void export_arrow_stream(std::vector<ArrowColumn> columns,
                         ArrowArrayStream* stream);

}  // namespace smdebug
