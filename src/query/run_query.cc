#include "smdebug/query/run_query.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "query/sql_functions.h"
#include "query/sqlite.h"
#include "query/virtual_table.h"

namespace smdebug {
namespace {

const VirtualTable kTables[] = {
    {"statistics", statistics_columns(), &statistics_rows},
    {"scalars", scalar_columns(), &scalar_rows},
};

std::string tables_text() {
  std::string text;
  for (const VirtualTable& table : kTables) {
    std::string names;
    for (const TableColumn& column : table.columns) {
      names += (names.empty() ? "" : ", ") + std::string(column.name);
    }
    text +=
        fmt::format("{}{}({})", text.empty() ? "" : " and ", table.name, names);
  }
  return text;
}

Error wrong_query(std::string_view why) {
  return {Error::Code::invalid_argument,
          fmt::format("the query cannot be answered: {}; the tables are {}",
                      why, tables_text())};
}

// The user's own files are out of reach of a query.
int allow_reading(void*, int action, const char*, const char*, const char*,
                  const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

Result<SqliteDatabase> open_database(QueriedRuns& runs) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(":memory:", &opened);
  SqliteDatabase database(opened);
  const auto failed = [&](int result) {
    return Error{Error::Code::io, fmt::format("SQLite cannot start: {}",
                                              sqlite3_errstr(result))};
  };
  if (code != SQLITE_OK) return failed(code);
  if (const int added = add_sql_functions(opened); added != SQLITE_OK) {
    return failed(added);
  }
  for (const VirtualTable& table : kTables) {
    const int added = add_virtual_table(opened, table, runs);
    if (added != SQLITE_OK) return failed(added);
  }
  // The first use of a table declares it, which the user may not.
  for (const VirtualTable& table : kTables) {
    const std::string first = fmt::format("SELECT 1 FROM {}", table.name);
    sqlite3_stmt* prepared = nullptr;
    const int made =
        sqlite3_prepare_v2(opened, first.c_str(), -1, &prepared, nullptr);
    const SqliteStatement statement(prepared);
    if (made != SQLITE_OK) return failed(made);
  }
  sqlite3_set_authorizer(opened, &allow_reading, nullptr);
  return database;
}

Result<SqliteStatement> prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(database, sql.c_str(), -1, &prepared, &rest);
  SqliteStatement statement(prepared);
  if (code == SQLITE_AUTH) {
    return wrong_query("only SELECT is allowed, on the tables of the runs");
  }
  if (code != SQLITE_OK) return wrong_query(sqlite3_errmsg(database));
  if (!statement) return wrong_query("it is empty");
  if (std::string_view(rest).find_first_not_of(" \t\r\n;") !=
      std::string_view::npos) {
    return wrong_query("it has more than one statement");
  }
  return statement;
}

// Of a column of a table; null for that of an expression.
QueryType type_of(const char* declared) {
  const std::string_view type = declared ? declared : "";
  if (type == "INTEGER") return QueryType::integer;
  if (type == "REAL") return QueryType::real;
  return type == "TEXT" ? QueryType::text : QueryType::unknown;
}

QueryValue value_at(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return std::monostate();
    default: {
      const auto* text =
          reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      const int bytes = sqlite3_column_bytes(statement, column);
      return std::string(text ? text : "", static_cast<std::size_t>(bytes));
    }
  }
}

}  // namespace

Result<QuerySummary> query_runs(std::span<const std::string> runs,
                                const std::string& sql, QuerySink& sink) {
  const std::set<std::string> locations(runs.begin(), runs.end());
  QueriedRuns queried{{locations.begin(), locations.end()}, {}};
  SMD_TRY(const SqliteDatabase database, open_database(queried));
  SMD_TRY(const SqliteStatement statement, prepare(database.get(), sql));
  const int count = sqlite3_column_count(statement.get());
  std::vector<QueryColumn> columns;
  for (int i = 0; i < count; ++i) {
    columns.push_back({sqlite3_column_name(statement.get(), i),
                       type_of(sqlite3_column_decltype(statement.get(), i))});
  }
  sink.begin(columns);
  std::vector<QueryValue> row(columns.size());
  QuerySummary summary;
  int code = sqlite3_step(statement.get());
  for (; code == SQLITE_ROW; code = sqlite3_step(statement.get())) {
    for (int i = 0; i < count; ++i) {
      row[static_cast<std::size_t>(i)] = value_at(statement.get(), i);
    }
    sink.row(row);
    ++summary.rows;
  }
  if (code != SQLITE_DONE) return wrong_query(sqlite3_errmsg(database.get()));
  sink.end();
  // A query may read a run several times.
  std::vector<QueryProblem>& problems = summary.problems;
  for (QueryProblem& problem : queried.problems) {
    if (std::ranges::find(problems, problem) == problems.end()) {
      problems.push_back(std::move(problem));
    }
  }
  return summary;
}

}  // namespace smdebug
