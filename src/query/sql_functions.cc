#include "query/sql_functions.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "query/median.h"

namespace smdebug {
namespace {

std::string_view text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (!text) return {};
  return {text, static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

// SQLite sets the pointer to null before the first row of a group.
using Numbers = std::vector<double>;

Numbers** numbers_of(sqlite3_context* context, int bytes) {
  return static_cast<Numbers**>(sqlite3_aggregate_context(context, bytes));
}

void add_number(sqlite3_context* context, int, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
  Numbers** numbers = numbers_of(context, sizeof(Numbers*));
  if (!numbers) return sqlite3_result_error_nomem(context);
  if (!*numbers) *numbers = new Numbers();
  (*numbers)->push_back(sqlite3_value_double(values[0]));
}

// NULL without values.
void pass_median(sqlite3_context* context) {
  Numbers** numbers = numbers_of(context, 0);
  if (!numbers || !*numbers) return sqlite3_result_null(context);
  const std::unique_ptr<Numbers> owned(*numbers);
  *numbers = nullptr;
  sqlite3_result_double(context, reordered_median(*owned));
}

// `text regexp pattern` calls regexp(pattern, text). A constant pattern is
// compiled once for a query.
void search(sqlite3_context* context, int, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
      sqlite3_value_type(values[1]) == SQLITE_NULL) {
    return sqlite3_result_null(context);
  }
  auto* regex = static_cast<Regex*>(sqlite3_get_auxdata(context, 0));
  if (!regex) {
    auto compiled = Regex::compile(text_of(values[0]));
    if (!compiled) {
      return sqlite3_result_error(context, compiled.error().message.c_str(),
                                  -1);
    }
    regex = new Regex(*std::move(compiled));
    sqlite3_set_auxdata(context, 0, regex,
                        [](void* data) { delete static_cast<Regex*>(data); });
    // It may have been freed at once, for lack of memory.
    regex = static_cast<Regex*>(sqlite3_get_auxdata(context, 0));
    if (!regex) return sqlite3_result_error_nomem(context);
  }
  const auto found = regex->search(text_of(values[1]));
  if (found) {
    sqlite3_result_int(context, *found ? 1 : 0);
  } else {
    sqlite3_result_error(context, found.error().message.c_str(), -1);
  }
}

}  // namespace

int add_sql_functions(sqlite3* database) {
  constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  const int code =
      sqlite3_create_function_v2(database, "median", 1, kPure, nullptr, nullptr,
                                 &add_number, &pass_median, nullptr);
  if (code != SQLITE_OK) return code;
  return sqlite3_create_function_v2(database, "regexp", 2, kPure, nullptr,
                                    &search, nullptr, nullptr, nullptr);
}

}  // namespace smdebug
