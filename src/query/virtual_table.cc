#include "query/virtual_table.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smdebug {
namespace {

// The data that the functions which SQLite calls share. An error is a problem
// of a run: none of the functions fails.
struct Module {
  const VirtualTable& table;
  QueriedRuns& runs;
};

struct Connected : sqlite3_vtab {
  explicit Connected(const Module& its_module)
      : sqlite3_vtab(), module(its_module) {}
  const Module& module;
};

struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(const Module& its_module)
      : sqlite3_vtab_cursor(), module(its_module) {}
  const Module& module;
  std::unique_ptr<TableRows> rows;
  bool is_at_end = true;
  std::int64_t row_number = 0;
};

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) {
  return *static_cast<Cursor*>(cursor);
}

int connect(sqlite3* database, void* data, int, const char* const*,
            sqlite3_vtab** made, char**) {
  const Module& module = *static_cast<const Module*>(data);
  std::string declaration = "CREATE TABLE t(";
  for (const auto& [name, type] : module.table.columns) {
    declaration += (declaration.ends_with('(') ? "\"" : ", \"") +
                   std::string(name) + "\" " + std::string(type);
  }
  const int code = sqlite3_declare_vtab(database, (declaration + ")").c_str());
  if (code == SQLITE_OK) *made = std::make_unique<Connected>(module).release();
  return code;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Connected*>(table);
  return SQLITE_OK;
}

std::optional<Comparison> comparison_of(unsigned char op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return Comparison::equal;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return Comparison::less;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return Comparison::less_or_equal;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return Comparison::greater;
    case SQLITE_INDEX_CONSTRAINT_GE:
      return Comparison::greater_or_equal;
    case SQLITE_INDEX_CONSTRAINT_LIKE:
      return Comparison::like;
    case SQLITE_INDEX_CONSTRAINT_GLOB:
      return Comparison::glob;
    default:
      return std::nullopt;
  }
}

// Notes the conditions that the table checks in `idxStr`, two characters for
// each, and the columns that the query uses in `idxNum`.
int choose_conditions(sqlite3_vtab*, sqlite3_index_info* info) {
  std::string chosen;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const auto comparison = comparison_of(constraint.op);
    if (!constraint.usable || !comparison || constraint.iColumn < 0) continue;
    if (comparison == Comparison::equal &&
        std::string_view(sqlite3_vtab_collation(info, i)) != "BINARY") {
      continue;
    }
    chosen += {static_cast<char>('a' + constraint.iColumn),
               static_cast<char>(*comparison)};
    info->aConstraintUsage[i].argvIndex = static_cast<int>(chosen.size() / 2);
  }
  // Runs are read in the order of their names.
  info->orderByConsumed = info->nOrderBy == 1 &&
                          info->aOrderBy[0].iColumn == int{kRunColumn} &&
                          info->aOrderBy[0].desc == 0;
  info->idxNum = static_cast<int>(info->colUsed & 0x7fffffff);
  info->idxStr = sqlite3_mprintf("%s", chosen.c_str());
  info->needToFreeIdxStr = 1;
  // A scan of a part is cheaper than one of all.
  info->estimatedCost = 1e9 / static_cast<double>(chosen.size() + 1);
  return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** made) {
  *made = std::make_unique<Cursor>(static_cast<Connected*>(table)->module)
              .release();
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

QueryValue value_of(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_value_int64(value)};
    case SQLITE_FLOAT:
      return sqlite3_value_double(value);
    case SQLITE_TEXT: {
      const auto* text =
          reinterpret_cast<const char*>(sqlite3_value_text(value));
      return text ? std::string(text) : std::string();
    }
    default:
      return std::monostate();
  }
}

int move_to_next(sqlite3_vtab_cursor* base) {
  Cursor& cursor = cursor_of(base);
  cursor.is_at_end = !cursor.rows->next();
  ++cursor.row_number;
  return SQLITE_OK;
}

int start_scan(sqlite3_vtab_cursor* base, int used, const char* chosen,
               int count, sqlite3_value** values) {
  Cursor& cursor = cursor_of(base);
  std::vector<Condition> conditions;
  for (int i = 0; i < count; ++i, chosen += 2) {
    conditions.push_back({static_cast<std::size_t>(chosen[0] - 'a'),
                          static_cast<Comparison>(chosen[1]),
                          value_of(values[i])});
  }
  cursor.rows = cursor.module.table.rows(
      cursor.module.runs, RowFilter(std::move(conditions)),
      ColumnSet(static_cast<std::uint64_t>(used)));
  cursor.row_number = 0;
  return move_to_next(base);
}

int is_at_end(sqlite3_vtab_cursor* base) { return cursor_of(base).is_at_end; }

int pass_cell(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) {
  const Cell cell =
      cursor_of(base).rows->cell(static_cast<std::size_t>(column));
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    sqlite3_result_int64(context, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    sqlite3_result_double(context, *real);
  } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
    sqlite3_result_text64(context, text->data(), text->size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8);
  }
  return SQLITE_OK;
}

int pass_row_number(sqlite3_vtab_cursor* base, sqlite3_int64* number) {
  *number = cursor_of(base).row_number;
  return SQLITE_OK;
}

const sqlite3_module kFunctions = [] {
  sqlite3_module functions = {};
  functions.xConnect = &connect;  // without xCreate, the table always exists
  functions.xBestIndex = &choose_conditions;
  functions.xDisconnect = &disconnect;
  functions.xOpen = &open_cursor;
  functions.xClose = &close_cursor;
  functions.xFilter = &start_scan;
  functions.xNext = &move_to_next;
  functions.xEof = &is_at_end;
  functions.xColumn = &pass_cell;
  functions.xRowid = &pass_row_number;
  return functions;
}();

}  // namespace

int add_virtual_table(sqlite3* database, const VirtualTable& table,
                      QueriedRuns& runs) {
  auto module = std::make_unique<Module>(Module{table, runs});
  // SQLite destroys it, also if this fails.
  return sqlite3_create_module_v2(
      database, table.name, &kFunctions, module.release(),
      [](void* data) { delete static_cast<Module*>(data); });
}

}  // namespace smdebug
