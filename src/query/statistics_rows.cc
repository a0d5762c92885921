// The rows of the table `statistics`.

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/parallel.h"
#include "smdebug/core/dtype.h"

#include "format/statistics_file_columns.h"
#include "query/table_rows.h"
#include "read/run_collections.h"
#include "read/statistics_scan.h"
#include "read/statistics_table_columns.h"

namespace smdebug {
namespace {

namespace file = statistics_file;
namespace table = statistics_table;

// The run comes before the columns of `statistics_table`.
constexpr std::size_t kOwnColumns = kRunColumn + 1;

constexpr std::size_t number_of(table::Column column) {
  return kOwnColumns + column;
}

constexpr auto kTable = [] {
  std::array<TableColumn, kOwnColumns + table::kColumns> columns = {};
  columns[kRunColumn] = {"run", "TEXT"};
  for (std::size_t i = 0; i < table::kColumns; ++i) {
    const auto& [name, type] = table::kNames[i];
    columns[kOwnColumns + i] = {name, type == ArrowType::text      ? "TEXT"
                                      : type == ArrowType::float64 ? "REAL"
                                                                   : "INTEGER"};
  }
  return columns;
}();

// In the order of kCountColumns and kMomentColumns.
enum class Count { all, nan, positive_inf, negative_inf, zeros };
enum class Moment { min, max, mean, m2, sum_abs, sum_squares };

// Runs whose files are requested at once: a store takes longer than the work.
constexpr std::size_t kRunsAtOnce = 64;

// A run with its first part.
struct StartedRun {
  std::string location;
  std::unique_ptr<StatisticsScan> scan;
  std::map<std::string, std::string, std::less<>> collections;
  std::optional<StatisticsPart> part;
  std::string failure;  // empty: none
};

StartedRun start(const std::string& location, bool needs_collections) {
  StartedRun run;
  run.location = location;
  auto scan = StatisticsScan::open(location);
  if (!scan) {
    run.failure = scan.error().message;
    return run;
  }
  run.scan = *std::move(scan);
  if (needs_collections) {
    RunCollections collections;
    const Status read = collections.refresh(run.scan->storage());
    if (!read) run.failure = read.error().message;
    run.collections = first_collections(collections.collections());
  }
  auto part = run.scan->next();
  if (part) {
    run.part = *std::move(part);
  } else {
    run.failure = part.error().message;
  }
  return run;
}

// A part, with the rows that count and a fast way to their cells.
class PartRows {
 public:
  PartRows(const StartedRun& run, const RowFilter& filter)
      : run_(run), part_(*run.part), filter_(filter) {
    admit_texts(file::kTensor, table::kTensor);
    admit_texts(file::kMode, table::kMode);
    admit_texts(file::kWorker, table::kWorker);
    admit_texts(file::kShape, table::kShape);
    admit_texts(file::kDType, table::kDType);
    for (const std::string_view text : column(file::kDType).dictionary()) {
      const DType dtype = *find_dtype(text);
      dtype_bytes_.push_back(is_string(dtype) ? 0 : dtype_bytes(dtype));
    }
    for (const std::string_view tensor : column(file::kTensor).dictionary()) {
      const auto found = run.collections.find(tensor);
      collections_.push_back(found == run.collections.end()
                                 ? std::string_view()
                                 : std::string_view(found->second));
    }
    for (const std::size_t number : filter.number_columns()) {
      if (number == number_of(table::kStep)) continue;  // checked for each step
      numbers_.push_back(number);
    }
  }

  bool next() {
    for (;;) {
      for (; row_ < end_; ++row_) {
        if (!admits(row_)) continue;
        current_ = row_++;
        return true;
      }
      do {
        if (step_ == part_.steps.size()) return false;
        row_ = part_.steps[step_].first;
        end_ = part_.steps[step_].end;
      } while (
          !filter_.admits(number_of(table::kStep),
                          static_cast<double>(part_.steps[step_++].name.step)));
    }
  }

  Cell cell(std::size_t number) const { return cell_at(current_, number); }

 private:
  struct AdmittedTexts {
    const ArrowColumnView& column;
    std::vector<bool> codes;
  };

  const ArrowColumnView& column(std::size_t number) const {
    return part_.file.column(number);
  }

  // Texts are compared once for each of the dictionary.
  void admit_texts(file::Column number, table::Column its) {
    std::vector<bool> codes;
    bool has_all = true;
    for (const std::string_view text : column(number).dictionary()) {
      codes.push_back(filter_.admits(number_of(its), text));
      has_all = has_all && codes.back();
    }
    if (!has_all) texts_.push_back({column(number), std::move(codes)});
  }

  bool admits(std::size_t row) const {
    const ArrowColumnView& dtype = column(file::kDType);
    if (column(file::kTensor).is_null(row)) return false;
    if (dtype.is_null(row) || dtype_bytes_[dtype.code(row)] == 0) return false;
    for (const auto& [column, codes] : texts_) {
      if (column.is_null(row) || !codes[column.code(row)]) return false;
    }
    for (const std::size_t number : numbers_) {
      const Cell cell = cell_at(row, number);
      const auto* integer = std::get_if<std::int64_t>(&cell);
      const auto* real = std::get_if<double>(&cell);
      if (integer && !filter_.admits(number, static_cast<double>(*integer)))
        return false;
      if (real && !filter_.admits(number, *real)) return false;
      // No comparison holds for NULL.
      if (std::holds_alternative<std::monostate>(cell)) return false;
    }
    return true;
  }

  std::int64_t count(std::size_t row, Count which) const {
    return static_cast<std::int64_t>(
        column(file::kFirstCount + static_cast<std::size_t>(which))
            .value<std::uint64_t>(row));
  }
  double moment(std::size_t row, Moment which) const {
    return column(file::kFirstMoment + static_cast<std::size_t>(which))
        .value<double>(row);
  }
  std::int64_t finite(std::size_t row) const {
    return count(row, Count::all) - count(row, Count::nan) -
           count(row, Count::positive_inf) - count(row, Count::negative_inf);
  }
  // Without a finite element there is none.
  Cell moment_of_finite(std::size_t row, Moment which) const {
    if (finite(row) == 0) return {};
    return moment(row, which);
  }
  Cell text(std::size_t row, file::Column number) const {
    if (column(number).is_null(row)) return {};
    return column(number).text(row);
  }
  std::int64_t integer(std::size_t row, file::Column number) const {
    return column(number).value<std::int64_t>(row);
  }

  Cell cell_at(std::size_t row, std::size_t number) const {
    if (number == kRunColumn) return std::string_view(run_.location);
    switch (static_cast<table::Column>(number - kOwnColumns)) {
      case table::kTensor:
        return text(row, file::kTensor);
      case table::kCollection: {
        const std::string_view name =
            collections_[column(file::kTensor).code(row)];
        return name.empty() ? Cell() : Cell(name);
      }
      case table::kStep:
        return integer(row, file::kStep);
      case table::kMode:
        return text(row, file::kMode);
      case table::kModeStep:
        return integer(row, file::kModeStep);
      case table::kWorker:
        return text(row, file::kWorker);
      case table::kDType:
        return text(row, file::kDType);
      case table::kShape:
        return text(row, file::kShape);
      case table::kBytes:
        return count(row, Count::all) *
               static_cast<std::int64_t>(
                   dtype_bytes_[column(file::kDType).code(row)]);
      case table::kCount:
        return count(row, Count::all);
      case table::kNan:
        return count(row, Count::nan);
      case table::kPositiveInf:
        return count(row, Count::positive_inf);
      case table::kNegativeInf:
        return count(row, Count::negative_inf);
      case table::kZeros:
        return count(row, Count::zeros);
      case table::kMin:
        return moment_of_finite(row, Moment::min);
      case table::kMax:
        return moment_of_finite(row, Moment::max);
      case table::kMean:
        return moment_of_finite(row, Moment::mean);
      case table::kStd:
        if (finite(row) == 0) return {};
        return std::sqrt(moment(row, Moment::m2) /
                         static_cast<double>(finite(row)));
      case table::kL1:
        return moment(row, Moment::sum_abs);
      case table::kL2:
        return std::sqrt(moment(row, Moment::sum_squares));
      case table::kColumns:
        break;
    }
    return {};
  }

  const StartedRun& run_;
  const StatisticsPart& part_;
  const RowFilter& filter_;
  std::vector<AdmittedTexts> texts_;
  std::vector<std::size_t> dtype_bytes_;  // by code; 0: text
  std::vector<std::string_view> collections_;
  std::vector<std::size_t> numbers_;  // columns with conditions
  std::size_t step_ = 0;
  std::size_t row_ = 0, end_ = 0, current_ = 0;
};

class StatisticsRows : public TableRows {
 public:
  StatisticsRows(QueriedRuns& runs, RowFilter filter, ColumnSet used)
      : runs_(runs),
        filter_(std::move(filter)),
        needs_collections_(used.has(number_of(table::kCollection))) {
    for (const std::string& location : runs.locations) {
      if (filter_.admits(kRunColumn, location)) wanted_.push_back(location);
    }
  }

  bool next() override {
    for (;;) {
      if (rows_ && rows_->next()) return true;
      rows_.reset();
      if (!advance()) return false;
      if (run().part) rows_.emplace(run(), filter_);
    }
  }

  Cell cell(std::size_t column) const override { return rows_->cell(column); }

 private:
  StartedRun& run() { return started_[place_]; }

  // Moves to the next part; to the next run if this one has no more.
  bool advance() {
    if (place_ < started_.size() && run().part) {
      auto part = run().scan->next();
      if (!part) run().failure = part.error().message;
      run().part = part ? *std::move(part) : std::nullopt;
      if (run().part) return true;
    }
    if (place_ < started_.size()) {
      report(run());
      run() = {};
      ++place_;
    }
    if (place_ == started_.size() && !start_more()) return false;
    return true;
  }

  bool start_more() {
    const std::size_t count =
        std::min(kRunsAtOnce, wanted_.size() - first_wanted_);
    started_.clear();
    started_.resize(count);
    place_ = 0;
    concurrent_for(count, kRunsAtOnce, [&](std::size_t i) {
      started_[i] = start(wanted_[first_wanted_ + i], needs_collections_);
    });
    first_wanted_ += count;
    return count > 0;
  }

  void report(const StartedRun& run) {
    if (!run.failure.empty()) runs_.note(run.location, run.failure);
    if (!run.scan) return;
    for (const Damage& damage : run.scan->damage()) {
      runs_.note(run.location, fmt::format("{}: {}", damage.key, damage.what));
    }
  }

  QueriedRuns& runs_;
  const RowFilter filter_;
  const bool needs_collections_;
  std::vector<std::string> wanted_;
  std::size_t first_wanted_ = 0;  // of those that are not started
  std::vector<StartedRun> started_;
  std::size_t place_ = 0;  // of the current run in `started_`
  std::optional<PartRows> rows_;
};

}  // namespace

std::span<const TableColumn> statistics_columns() { return kTable; }

std::unique_ptr<TableRows> statistics_rows(QueriedRuns& runs, RowFilter filter,
                                           ColumnSet used) {
  return std::make_unique<StatisticsRows>(runs, std::move(filter), used);
}

}  // namespace smdebug
