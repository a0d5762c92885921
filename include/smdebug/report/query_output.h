#pragma once

// Prints the answer to a query (run_query.h) as text, JSON or CSV, to a stream
// that must outlive it.

#include <memory>
#include <ostream>

#include "smdebug/query/run_query.h"

namespace [[gnu::visibility("default")]] smdebug {

/// A table for a terminal. It prints at the end, because its columns are as
/// wide as their widest cell. Numbers have six digits.
std::unique_ptr<QuerySink> query_text_output(std::ostream& out);

/// An array with an object per row.
std::unique_ptr<QuerySink> query_json_output(std::ostream& out);

/// Fields as in RFC 4180, after a line with the names of the columns; lines end
/// with a line feed. NULL is an empty field.
std::unique_ptr<QuerySink> query_csv_output(std::ostream& out);

}  // namespace smdebug
