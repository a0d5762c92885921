#pragma once

// Makes a table of `table_rows.h` a table of SQLite.

#include <memory>
#include <span>

#include "query/sqlite.h"
#include "query/table_rows.h"

namespace smdebug {

struct VirtualTable {
  const char* name;
  std::span<const TableColumn> columns;
  std::unique_ptr<TableRows> (*rows)(QueriedRuns&, RowFilter, ColumnSet);
};

// Returns SQLite's code. `table` and `runs` must outlive the database.
int add_virtual_table(sqlite3* database, const VirtualTable& table,
                      QueriedRuns& runs);

}  // namespace smdebug
