#pragma once

// A table of a query: its columns, and what reads its rows.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "smdebug/query/run_query.h"

#include "query/row_filter.h"

namespace smdebug {

struct TableColumn {
  std::string_view name;
  // "TEXT", "INTEGER", "REAL"; "REAL HIDDEN" is no part of `select *`.
  std::string_view sql_type;
};

// The first column of each table: the location of the run.
inline constexpr std::size_t kRunColumn = 0;

// Text is valid until the next row.
using Cell =
    std::variant<std::monostate, std::int64_t, double, std::string_view>;

class TableRows {
 public:
  virtual ~TableRows() = default;

  // Moves to the first row, later to the next one; returns false at the end.
  virtual bool next() = 0;
  virtual Cell cell(std::size_t column) const = 0;
};

// A set of columns, by their numbers.
class ColumnSet {
 public:
  explicit ColumnSet(std::uint64_t bits) : bits_(bits) {}
  bool has(std::size_t column) const { return bits_ >> column & 1; }

 private:
  std::uint64_t bits_;
};

// The runs of a query, and what was left out of them.
struct QueriedRuns {
  std::vector<std::string> locations;  // sorted, each once
  std::vector<QueryProblem> problems;

  void note(const std::string& run, std::string what) {
    problems.push_back({run, std::move(what)});
  }
};

// The tables, with their rows in the order of the runs. Rows that `filter`
// refuses may be left out; columns that are not `used` are never read. `runs`
// must outlive the result.
std::span<const TableColumn> statistics_columns();
std::unique_ptr<TableRows> statistics_rows(QueriedRuns& runs, RowFilter filter,
                                           ColumnSet used);
std::span<const TableColumn> scalar_columns();
std::unique_ptr<TableRows> scalar_rows(QueriedRuns& runs, RowFilter filter,
                                       ColumnSet used);

}  // namespace smdebug
