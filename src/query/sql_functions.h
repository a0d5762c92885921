#pragma once

// The functions that queries have beside those of SQLite: the aggregate
// `median(x)`, and `regexp`, which makes `text regexp 'pattern'` work.

#include "query/sqlite.h"

namespace smdebug {

// Returns SQLite's code.
int add_sql_functions(sqlite3* database);

}  // namespace smdebug
