#pragma once

// Answers SQL about recorded runs.
//
// Two tables span all runs of a query. `statistics` has a row for each tensor,
// step and worker: `run` (as it was given), `tensor`, `collection` (the first
// one of the tensor, other than "all"), `step` (global), `mode`, `mode_step`,
// `worker`, `dtype`, `shape` ("64,10"), `bytes`, `count`, `nan`,
// `positive_inf`, `negative_inf`, `zeros`, and of the finite elements `min`,
// `max`, `mean`, `std` (of the population), `l1` and `l2` (norms). Its
// column `l2_over_median`, which `select *` leaves out, is `l2` divided by the
// median of the `l2` of the same run, tensor, mode and worker; NULL if that
// median is 0. `scalars` has a row for each value of a scalar series, such as a
// loss: `run`, `name`, `step`, `mode`, `mode_step`, `worker`, `value`.
//
// The language is that of SQLite, with the aggregate `median(x)` and the
// operator `text regexp 'pattern'`, which matches as Python's `re.search`.

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

// NULL, an integer, a number or a text.
using QueryValue =
    std::variant<std::monostate, std::int64_t, double, std::string>;

// The type of the values of a column, other than NULL, if it is known before
// the first row.
enum class QueryType { unknown, integer, real, text };

struct QueryColumn {
  std::string name;
  QueryType type = QueryType::unknown;
};

// Takes an answer: the columns once, each row, and the end if the whole query
// was answered.
class QuerySink {
 public:
  virtual ~QuerySink() = default;

  virtual void begin(std::span<const QueryColumn> columns) = 0;
  virtual void row(std::span<const QueryValue> values) = 0;
  virtual void end() {}
};

// A run, or a part of one, that was left out.
struct QueryProblem {
  std::string run;
  std::string what;  // one sentence

  friend bool operator==(const QueryProblem&, const QueryProblem&) = default;
};

struct QuerySummary {
  std::uint64_t rows = 0;
  std::vector<QueryProblem> problems;
};

/// Answers one SELECT about the runs at these locations, and returns how many
/// rows the answer has, and what was left out. Reads only the runs, the tables
/// and the columns that `sql` names, in the order of their names, and keeps no
/// run in memory. Statistics that a run does not store are computed from its
/// values. Fails with `invalid_argument` if `sql` is wrong, names another table
/// or would change something.
Result<QuerySummary> query_runs(std::span<const std::string> runs,
                                const std::string& sql, QuerySink& sink);

}  // namespace smdebug
