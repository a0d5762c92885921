// The rows of the table `statistics`.

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"

#include "query/part_rows.h"
#include "query/table_rows.h"
#include "read/run_collections.h"
#include "read/statistics_scan.h"
#include "read/statistics_table_columns.h"

namespace smdebug {
namespace {

using query_table::number_of;

constexpr auto kTable = [] {
  std::array<TableColumn, query_table::kColumns> columns = {};
  columns[kRunColumn] = {"run", "TEXT"};
  for (std::size_t i = 0; i < statistics_table::kColumns; ++i) {
    const auto& [name, type] = statistics_table::kNames[i];
    columns[query_table::kFirstOfStatistics + i] = {
        name, type == ArrowType::text      ? "TEXT"
              : type == ArrowType::float64 ? "REAL"
                                           : "INTEGER"};
  }
  // Hidden from `select *`, because it needs a whole run at once.
  columns[query_table::kL2OverMedian] = {"l2_over_median", "REAL HIDDEN"};
  return columns;
}();

// Runs that are read at once from a store, which takes longer than the work.
constexpr std::size_t kRunsAtOnce = 64;
// The same if all parts of a run are held in memory.
constexpr std::size_t kWholeRunsAtOnce = 16;

// The same on a disk: further ones would only take memory.
std::size_t local_runs_at_once() {
  return 2 * std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

// The parts of each run that a query needs.
struct Needs {
  const RowFilter& filter;
  bool collections = false;
  bool medians = false;
};

// The rows of one run. Used by one thread at a time.
class RunRows {
 public:
  RunRows(std::string location, const Needs& needs)
      : location_(std::move(location)), needs_(needs) {}

  // Opens the run and moves to its first part with rows.
  void start() {
    if (const Status opened = open(); !opened) {
      failure_ = opened.error().message;
    }
    next_part();
  }

  bool is_remote() const { return scan_ && scan_->storage().is_remote(); }

  bool next() {
    for (; rows_; next_part()) {
      if (rows_->next()) return true;
    }
    return false;
  }

  Cell cell(std::size_t column) const { return rows_->cell(column); }

  void report(QueriedRuns& runs) const {
    if (!failure_.empty()) runs.note(location_, failure_);
    if (!scan_) return;
    for (const Damage& damage : scan_->damage()) {
      runs.note(location_, fmt::format("{}: {}", damage.key, damage.what));
    }
  }

 private:
  Status open() {
    SMD_TRY(scan_, StatisticsScan::open(location_));
    if (needs_.medians) keep_parts();
    if (!needs_.collections) return {};
    RunCollections collections;
    Status read = collections.refresh(scan_->storage());
    collections_ = first_collections(collections.collections());
    return read;
  }

  // The median of a tensor is known only when the whole run has been read.
  void keep_parts() {
    while (auto part = read_part()) {
      medians_.add(*part);
      kept_.push_back(*std::move(part));
    }
    medians_.finish();
  }

  std::optional<StatisticsPart> read_part() {
    if (!scan_ || has_read_all_) return std::nullopt;
    auto part = scan_->next();
    if (!part) failure_ = part.error().message;
    has_read_all_ = !part || !*part;
    return part ? *std::move(part) : std::nullopt;
  }

  std::optional<StatisticsPart> take_part() {
    if (kept_.empty()) return read_part();
    StatisticsPart part = std::move(kept_.front());
    kept_.pop_front();
    return part;
  }

  void next_part() {
    rows_.reset();
    while (auto part = take_part()) {
      auto medians = needs_.medians ? medians_.of(*part) : L2Medians::OfPart();
      rows_.emplace(*std::move(part), location_, collections_,
                    std::move(medians), needs_.filter);
      if (!rows_->empty()) return;
      rows_.reset();
    }
  }

  const std::string location_;
  const Needs& needs_;
  std::unique_ptr<StatisticsScan> scan_;
  PartRows::Collections collections_;
  L2Medians medians_;
  std::deque<StatisticsPart> kept_;
  bool has_read_all_ = false;
  std::optional<PartRows> rows_;  // none at the end
  std::string failure_;           // empty: none
};

class StatisticsRows : public TableRows {
 public:
  StatisticsRows(QueriedRuns& runs, RowFilter filter, ColumnSet used)
      : runs_(runs),
        filter_(std::move(filter)),
        needs_{filter_, used.has(number_of(statistics_table::kCollection)),
               used.has(query_table::kL2OverMedian)} {
    for (const std::string& location : runs.locations) {
      if (filter_.admits(kRunColumn, location)) wanted_.push_back(location);
    }
  }

  bool next() override {
    for (;;) {
      while (!started_.empty()) {
        if (started_.front()->next()) return true;
        started_.front()->report(runs_);
        started_.pop_front();
      }
      if (!start_more()) return false;
    }
  }

  Cell cell(std::size_t column) const override {
    return started_.front()->cell(column);
  }

 private:
  bool start_more() {
    const std::size_t count = std::min(at_once_, wanted_.size() - next_wanted_);
    for (std::size_t i = 0; i < count; ++i) {
      started_.push_back(
          std::make_unique<RunRows>(wanted_[next_wanted_++], needs_));
    }
    concurrent_for(count, at_once_,
                   [&](std::size_t i) { started_[i]->start(); });
    if (count > 0 && started_.front()->is_remote()) {
      at_once_ = needs_.medians ? kWholeRunsAtOnce : kRunsAtOnce;
    }
    return count > 0;
  }

  QueriedRuns& runs_;
  const RowFilter filter_;
  const Needs needs_;
  std::vector<std::string> wanted_;
  std::size_t next_wanted_ = 0;
  std::size_t at_once_ = local_runs_at_once();
  std::deque<std::unique_ptr<RunRows>> started_;  // the current one first
};

}  // namespace

std::span<const TableColumn> statistics_columns() { return kTable; }

std::unique_ptr<TableRows> statistics_rows(QueriedRuns& runs, RowFilter filter,
                                           ColumnSet used) {
  return std::make_unique<StatisticsRows>(runs, std::move(filter), used);
}

}  // namespace smdebug
