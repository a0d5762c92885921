// The rows of the table `scalars`.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/base/try.h"
#include "smdebug/store/open_storage.h"

#include "query/table_rows.h"
#include "read/run_series_files.h"
#include "read/run_storage.h"

namespace smdebug {
namespace {

enum ScalarColumn : std::size_t {
  kRunOfScalar,
  kNameOfScalar,
  kStepOfScalar,
  kModeOfScalar,
  kModeStepOfScalar,
  kWorkerOfScalar,
  kValueOfScalar,
};

constexpr TableColumn kScalarTable[] = {
    {"run", "TEXT"},   {"name", "TEXT"},         {"step", "INTEGER"},
    {"mode", "TEXT"},  {"mode_step", "INTEGER"}, {"worker", "TEXT"},
    {"value", "REAL"},
};

class ScalarRows : public TableRows {
 public:
  ScalarRows(QueriedRuns& runs, RowFilter filter)
      : runs_(runs), filter_(std::move(filter)) {}

  bool next() override {
    if (is_in_series()) ++sample_;
    while (!is_in_series()) {
      if (!next_series()) return false;
    }
    return true;
  }

  Cell cell(std::size_t column) const override {
    const ScalarSample& sample = series_[worker_].samples[sample_];
    switch (static_cast<ScalarColumn>(column)) {
      case kRunOfScalar:
        return std::string_view(runs_.locations[next_run_ - 1]);
      case kNameOfScalar:
        return std::string_view(names_[next_name_ - 1]);
      case kStepOfScalar:
        return sample.step.global;
      case kModeOfScalar:
        return mode_name(sample.step.mode);
      case kModeStepOfScalar:
        return sample.step.mode_step;
      case kWorkerOfScalar:
        return std::string_view(series_[worker_].worker);
      case kValueOfScalar:
        return sample.value;
    }
    return {};
  }

 private:
  bool is_in_series() const {
    return worker_ < series_.size() &&
           sample_ < series_[worker_].samples.size();
  }

  // Moves to the next worker, name or run.
  bool next_series() {
    sample_ = 0;
    if (++worker_ < series_.size()) return true;
    worker_ = 0;
    series_.clear();
    if (next_name_ < names_.size()) {
      series_ = files_->series(names_[next_name_++]);
      return true;
    }
    if (next_run_ == runs_.locations.size()) return false;
    open(runs_.locations[next_run_++]);
    return true;
  }

  void open(const std::string& run) {
    names_.clear();
    next_name_ = 0;
    if (!filter_.admits(kRunOfScalar, run)) return;
    files_.emplace(std::nullopt, std::nullopt);
    const Status read = read_files(run);
    if (!read) runs_.note(run, read.error().message);
    for (const auto& [key, why] : files_->broken_files()) {
      runs_.note(run, key + ": " + why);
    }
    for (const std::string& name : files_->names()) {
      if (filter_.admits(kNameOfScalar, name)) names_.push_back(name);
    }
  }

  Status read_files(const std::string& run) {
    SMD_TRY(const auto storage, open_storage(run));
    SMD_CHECK_OK(files_->refresh(*storage));
    if (!files_->names().empty()) return {};
    SMD_TRY(const auto found, find_run_storage(run));
    return files_->refresh(*found);
  }

  QueriedRuns& runs_;
  const RowFilter filter_;
  std::size_t next_run_ = 0;
  std::optional<RunSeriesFiles> files_;  // of the run before `next_run_`
  std::vector<std::string> names_;
  std::size_t next_name_ = 0;
  std::vector<WorkerSeries> series_;  // of the name before `next_name_`
  std::size_t worker_ = 0, sample_ = 0;
};

}  // namespace

std::span<const TableColumn> scalar_columns() { return kScalarTable; }

std::unique_ptr<TableRows> scalar_rows(QueriedRuns& runs, RowFilter filter,
                                       ColumnSet) {
  return std::make_unique<ScalarRows>(runs, std::move(filter));
}

}  // namespace smdebug
