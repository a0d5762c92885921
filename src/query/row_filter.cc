#include "query/row_filter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "query/sqlite.h"

namespace smdebug {
namespace {

// Larger integers have no double of their own.
constexpr double kMostExact = 9007199254740992.0;

// The value as a number that compares as SQLite compares it.
std::optional<double> exact_number(const QueryValue& value) {
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  } else {
    return std::nullopt;
  }
  if (std::abs(number) >= kMostExact) return std::nullopt;
  return number;
}

bool holds(Comparison comparison, double a, double b) {
  switch (comparison) {
    case Comparison::equal:
      return a == b;
    case Comparison::less:
      return a < b;
    case Comparison::less_or_equal:
      return a <= b;
    case Comparison::greater:
      return a > b;
    case Comparison::greater_or_equal:
      return a >= b;
    default:
      return true;
  }
}

bool holds(Comparison comparison, const std::string& text,
           const std::string& value) {
  switch (comparison) {
    case Comparison::equal:
      return text == value;
    case Comparison::like:
      return sqlite3_strlike(value.c_str(), text.c_str(), 0) == 0;
    case Comparison::glob:
      return sqlite3_strglob(value.c_str(), text.c_str()) == 0;
    default:
      return true;
  }
}

}  // namespace

bool RowFilter::admits(std::size_t column, std::string_view text) const {
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    if (condition.column != column) return true;
    const auto* value = std::get_if<std::string>(&condition.value);
    return !value || holds(condition.comparison, std::string(text), *value);
  });
}

bool RowFilter::admits(std::size_t column, double number) const {
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    if (condition.column != column) return true;
    const auto value = exact_number(condition.value);
    return !value || holds(condition.comparison, number, *value);
  });
}

std::vector<std::size_t> RowFilter::number_columns() const {
  std::vector<std::size_t> columns;
  for (const Condition& condition : conditions_) {
    if (exact_number(condition.value)) columns.push_back(condition.column);
  }
  return columns;
}

}  // namespace smdebug
