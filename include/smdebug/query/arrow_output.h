#pragma once

// The answer to a query (run_query.h) as a file of Apache Arrow.

#include <memory>
#include <ostream>

#include "smdebug/query/run_query.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Writes an Arrow IPC file with one record batch to `out` at the end of the
/// answer; until then it is in memory. `out` must outlive it. Text is
/// dictionary-encoded. A column with integers and other numbers has numbers,
/// and one with text and something else has text.
std::unique_ptr<QuerySink> query_arrow_output(std::ostream& out);

}  // namespace smdebug
