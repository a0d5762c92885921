#pragma once

// The conditions of a query that a table checks itself: it skips runs and rows
// without passing them to SQLite, which checks the others again.

#include <cstddef>
#include <string_view>
#include <vector>

#include "smdebug/query/run_query.h"

namespace smdebug {

enum class Comparison : char {
  equal = '=',
  less = '<',
  less_or_equal = 'l',
  greater = '>',
  greater_or_equal = 'g',
  like = 'L',
  glob = 'G',
};

struct Condition {
  std::size_t column = 0;
  Comparison comparison = Comparison::equal;
  QueryValue value;
};

class RowFilter {
 public:
  RowFilter() = default;
  explicit RowFilter(std::vector<Condition> conditions)
      : conditions_(std::move(conditions)) {}

  // Whether the conditions on this column may hold for a text or a number.
  // Conditions that compare it with a value of another kind may always hold.
  bool admits(std::size_t column, std::string_view text) const;
  bool admits(std::size_t column, double number) const;

  // The columns with conditions that compare numbers.
  std::vector<std::size_t> number_columns() const;

 private:
  std::vector<Condition> conditions_;
};

}  // namespace smdebug
